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

// Outcome returns how a reconcile ended. A rejected spec, which is permanent until it changes,
// precedes a transient error. decision is nil if the tasks were not evaluated.
func Outcome(violations []string, decision *lifecycle.Decision, failure error) contract.Reconcile {
	var failed contract.Reconcile
	if failure != nil {
		failed = Failure(failure)
	}
	switch {
	case len(violations) > 0:
		return terminal(v1alpha1.ReasonInvalidSpec, resolve.InvalidSpecMessage(violations))
	case failed.Terminal:
		return failed
	case decision != nil && decision.Phase == v1alpha1.PhaseBlocked:
		return terminal(decision.Condition.Reason, decision.Condition.Message)
	case failure != nil:
		return failed
	case decision != nil && decision.Phase == v1alpha1.PhaseAwaitingApproval:
		return contract.Reconcile{Outcome: contract.Succeeded, Reason: decision.Condition.Reason, Message: decision.Condition.Message}
	}
	return contract.Reconcile{Outcome: contract.Succeeded}
}

// Failure returns the outcome of a reconcile that failed with err.
func Failure(err error) contract.Reconcile {
	text := strings.TrimSuffix(err.Error(), ".")
	switch {
	case errors.Is(err, apply.ErrNotOwned):
		fact, remedy := "A foreign object blocks the reconcile: ", "Delete or rename the object."
		if strings.Count(text, apply.ErrNotOwned.Error()) > 1 {
			fact, remedy = "Foreign objects block the reconcile: ", "Delete or rename the objects."
		}
		return terminal(conditions.ReasonNotOwned, withRemedy(fact+text, remedy))
	case apierrors.IsInvalid(err):
		return terminal(conditions.ReasonApplyRefused, withRemedy("The API server rejected an object: "+text, "Correct the spec."))
	}
	return contract.Reconcile{Outcome: contract.Failed, Reason: conditions.ReasonReconcileError, Message: text + "."}
}

// terminal returns a permanent outcome.
func terminal(reason, message string) contract.Reconcile {
	return contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: reason, Message: message}
}

// withRemedy appends the remedy to an error, which may name many objects: it is shortened, so that the bound of texts does
// not cut off the remedy.
func withRemedy(text, remedy string) string {
	end := ". "
	if limit := contract.MaxTextBytes - len(remedy) - len("... "); len(text) > limit {
		text, end = strings.ToValidUTF8(text[:limit], ""), "... "
	}
	return text + end + remedy
}
