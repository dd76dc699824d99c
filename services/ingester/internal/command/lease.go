package command

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/kube/leader"
)

// LeaseName is the name of the ingester's leader election Lease.
const LeaseName = "ingester.flotilla.dev"

// Leader returns the name of the leader, or "" without one. It waits up to the duration of a Lease that was not released.
func (e Env) Leader(ctx context.Context) (string, error) {
	if e.LeaseNamespace == "" {
		return "", errors.New("--leader-election-namespace (FLOTILLA_LEADER_ELECTION_NAMESPACE) is required to check whether an ingester is running")
	}
	identity, err := leader.Find(ctx, e.Client, types.NamespacedName{Namespace: e.LeaseNamespace, Name: LeaseName}, e.Clock)
	return identity, Explain(err)
}
