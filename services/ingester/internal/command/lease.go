package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// LeaseName is the name of the ingester's leader election Lease.
const LeaseName = "ingester.flotilla.dev"

// Leader returns the name of the leader, or "" without one: the Lease is not found, was
// released, or has expired.
func (e Env) Leader(ctx context.Context) (string, error) {
	if e.LeaseNamespace == "" {
		return "", errors.New("--leader-election-namespace (FLOTILLA_LEADER_ELECTION_NAMESPACE) is required to check whether an ingester is running")
	}
	var lease coordinationv1.Lease
	err := e.Client.Get(ctx, types.NamespacedName{Namespace: e.LeaseNamespace, Name: LeaseName}, &lease)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", Explain(fmt.Errorf("get Lease %s/%s: %w", e.LeaseNamespace, LeaseName, err))
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return "", nil
	}
	end := spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second)
	if e.Clock.Now().After(end) {
		return "", nil
	}
	return *spec.HolderIdentity, nil
}
