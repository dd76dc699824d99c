package observation

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// reasonReconcileError is the reason of a transient failure.
const reasonReconcileError = "ReconcileError"

// Outcome returns how a reconcile ended. A rejected spec, which is permanent until it changes,
// precedes a transient error. decision is nil if the tasks were not evaluated.
func Outcome(violations []string, decision *lifecycle.Decision, failure error) contract.Reconcile {
	out := contract.Reconcile{Outcome: contract.Succeeded}
	switch {
	case len(violations) > 0:
		out = terminal(v1alpha1.ReasonInvalidSpec, resolve.InvalidSpecMessage(violations))
	case errors.Is(failure, apply.ErrNotOwned):
		out = terminal(conditions.ReasonNotOwned, "A foreign object blocks the reconcile: "+failure.Error()+". Delete or rename the object.")
	case apierrors.IsInvalid(failure):
		out = terminal(conditions.ReasonApplyRefused, "The API server rejected an object: "+strings.TrimSuffix(failure.Error(), ".")+".")
	case decision != nil && decision.Phase == v1alpha1.PhaseBlocked:
		out = terminal(decision.Condition.Reason, decision.Condition.Message)
	case failure != nil:
		out = contract.Reconcile{Outcome: contract.Failed, Reason: reasonReconcileError, Message: strings.TrimSuffix(failure.Error(), ".") + "."}
	case decision != nil && decision.Phase == v1alpha1.PhaseAwaitingApproval:
		out.Reason, out.Message = decision.Condition.Reason, decision.Condition.Message
	}
	return out
}

// terminal returns a permanent outcome.
func terminal(reason, message string) contract.Reconcile {
	return contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: reason, Message: message}
}
