package command

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/kube/leader"
)

// LeaseName is the name of the ingester's leader election Lease.
const LeaseName = "ingester.flotilla.dev"

// RequireNoLeader returns an error while an ingester is the leader. The consequence completes "the ingester is running and …".
// It waits up to the duration of a Lease that was not released.
func (e Env) RequireNoLeader(ctx context.Context, consequence string) error {
	name := types.NamespacedName{Namespace: e.LeaseNamespace, Name: LeaseName}
	if name.Namespace == "" {
		return errors.New("--leader-election-namespace (FLOTILLA_LEADER_ELECTION_NAMESPACE) is required to check whether an ingester is running (--force skips the check)")
	}
	identity, err := leader.Find(ctx, e.Client, name, e.Clock)
	if err != nil {
		return fmt.Errorf("%w (--force skips the check)", Explain(err))
	}
	if identity != "" {
		return fmt.Errorf("the ingester %s is running and %s: stop it first (its Lease is %s), or set --force", identity, consequence, name)
	}
	return nil
}
