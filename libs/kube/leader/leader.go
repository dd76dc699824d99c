// Package leader reports the leader of a service, for commands that must not run at the same time.
//
// The times in a Lease are from the clock of its holder, which may differ from the clock of this machine. As in leader
// election, they are compared with former values only, and the time without a renewal is measured here.
package leader

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const pollInterval = time.Second

// Find returns the identity of the leader that holds the Lease, or "" without one. It returns at once if the Lease is not
// found or was released. Otherwise it waits until the Lease changes, which shows a leader, or until the duration of the
// Lease has passed. The logger of ctx logs the wait. leases reads from the API server, never from a cache.
func Find(ctx context.Context, leases client.Reader, key types.NamespacedName, clk clock.Clock) (string, error) {
	first, err := get(ctx, leases, key)
	if err != nil || !held(first) {
		return "", err
	}
	start := clk.Now()
	duration := time.Duration(ptr.Deref(first.LeaseDurationSeconds, 0)) * time.Second
	logr.FromContextOrDiscard(ctx).Info("Waiting for the leader to renew its Lease, or for the Lease to expire",
		"lease", key.String(), "leader", *first.HolderIdentity, "duration", duration.String())
	for expired := false; !expired; {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("wait for Lease %s to expire: %w", key, context.Cause(ctx))
		case <-clk.After(pollInterval):
		}
		expired = clk.Since(start) >= duration // before the read, which thus covers the whole duration
		latest, err := get(ctx, leases, key)
		if err != nil || !held(latest) {
			return "", err
		}
		if renewed(first, latest) {
			return *latest.HolderIdentity, nil
		}
	}
	return "", nil
}

// get returns an empty spec if the Lease is not found.
func get(ctx context.Context, leases client.Reader, key types.NamespacedName) (coordinationv1.LeaseSpec, error) {
	var lease coordinationv1.Lease
	err := leases.Get(ctx, key, &lease)
	switch {
	case apierrors.IsNotFound(err):
		return coordinationv1.LeaseSpec{}, nil
	case err != nil:
		return coordinationv1.LeaseSpec{}, fmt.Errorf("get Lease %s: %w", key, err)
	}
	return lease.Spec, nil
}

func held(s coordinationv1.LeaseSpec) bool { return ptr.Deref(s.HolderIdentity, "") != "" }

func renewed(before, after coordinationv1.LeaseSpec) bool {
	return *before.HolderIdentity != *after.HolderIdentity ||
		!before.RenewTime.Equal(after.RenewTime) ||
		ptr.Deref(before.LeaseTransitions, 0) != ptr.Deref(after.LeaseTransitions, 0)
}
