package report

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// reasonReconcileError is the reason of a transient failure.
const reasonReconcileError = "ReconcileError"

// Outcome returns how a reconcile ended. A rejected spec, which is permanent until it changes,
// precedes a transient error. decision is nil if the tasks were not evaluated.
func Outcome(refused []string, decision *lifecycle.Decision, failure error) contract.Reconcile {
	out := contract.Reconcile{Outcome: contract.Succeeded}
	switch {
	case len(refused) > 0:
		out = refusal(v1alpha1.ReasonInvalidSpec, strings.Join(refused, "; ")+". Nothing is changed until the spec is corrected.")
	case errors.Is(failure, apply.ErrNotOwned):
		out = refusal(conditions.ReasonNotOwned, failure.Error()+". Delete or rename the object that is in the way.")
	case apierrors.IsInvalid(failure):
		out = refusal(conditions.ReasonApplyRefused, failure.Error())
	case decision != nil && decision.Phase == v1alpha1.PhaseBlocked:
		out = refusal(decision.Condition.Reason, decision.Condition.Message)
	case failure != nil:
		out = contract.Reconcile{Outcome: contract.Failed, Reason: reasonReconcileError, Message: failure.Error()}
	case decision != nil && decision.Phase == v1alpha1.PhaseAwaitingApproval:
		out.Reason, out.Message = decision.Condition.Reason, decision.Condition.Message
	}
	return out
}

// refusal returns a permanent outcome.
func refusal(reason, message string) contract.Reconcile {
	return contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: reason, Message: message}
}
