package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pausedRules report the intent that the observer has read. A newer spec does not make the
// condition Unknown: its observedGeneration shows which spec was read.
var pausedRules = []rule{
	func(e *evaluation) (outcome, bool) {
		if !e.o.Intent.Paused {
			return noMatch()
		}
		return conditionTrue(ReasonReconciliationPaused, "Reconciliation is paused on request"+by(e.o.Intent.PausedBy)+".")
	},
	func(*evaluation) (outcome, bool) { return conditionFalse(ReasonNotPaused, "No pause is requested.") },
}

// stoppedRules report the fact, not the intent: Stopped is True when no pods are left.
var stoppedRules = []rule{
	func(e *evaluation) (outcome, bool) {
		if e.o.Intent.Stopped {
			return noMatch()
		}
		return conditionFalse(ReasonRunning, "No stop is requested.")
	},
	func(e *evaluation) (outcome, bool) {
		if e.pods() > 0 {
			return noMatch()
		}
		return conditionTrue(ReasonStopped, "The object is stopped on request"+by(e.o.Intent.StoppedBy)+"; no pods are left.")
	},
	func(e *evaluation) (outcome, bool) {
		if !e.o.Intent.Paused {
			return noMatch()
		}
		return conditionUnknown(ReasonReconciliationPaused, "A stop is requested"+by(e.o.Intent.StoppedBy)+", but reconciliation is paused.")
	},
	func(e *evaluation) (outcome, bool) {
		return conditionFalse(ReasonStopping, "The object is stopping on request"+by(e.o.Intent.StoppedBy)+"; "+podsLeft(e.pods())+".")
	},
}

// pods counts the pods of all units and running tasks, including terminating ones.
func (e *evaluation) pods() int {
	n := len(e.activeJobs())
	for _, u := range e.o.Units {
		n += int(max(0, u.Current, u.Ready, u.Available)) + int(max(0, u.Terminating))
	}
	return n
}

// upgradable derives Upgradable from the other conditions: an upgrade begins only from a
// steady, healthy, reconciled state.
func upgradable(e *evaluation, progressing, degraded outcome) outcome {
	blocked := func(reason, message string) outcome {
		return outcome{metav1.ConditionFalse, reason, message}
	}
	switch {
	case e.deleting():
		return blocked(ReasonDeleting, "The object is being deleted.")
	case e.o.Intent.Paused:
		return blocked(ReasonReconciliationPaused, "Reconciliation is paused"+by(e.o.Intent.PausedBy)+".")
	case e.o.Intent.Stopped:
		return blocked(ReasonStopped, "A stop is requested"+by(e.o.Intent.StoppedBy)+"; tasks do not start.")
	case progressing.status == metav1.ConditionTrue:
		return blocked(progressing.reason, progressing.message)
	case degraded.status == metav1.ConditionTrue:
		return blocked(ReasonDegraded, degraded.message)
	case len(e.findings) > 0:
		return blocked(e.findings[0].reason, e.findings[0].message)
	case e.waiting():
		return blocked(e.o.Reconcile.Reason, orElse(e.o.Reconcile.Message, "The latest spec is waiting to be applied."))
	case len(e.o.UpgradeBlockers) > 0:
		return blocked(ReasonUpgradeBlocked, sentence(slices.Clone(e.o.UpgradeBlockers)))
	}
	return outcome{metav1.ConditionTrue, ReasonAsExpected, "An upgrade may begin."}
}

// ready derives the summary: available and not degraded.
func ready(available, degraded outcome) outcome {
	if available.status == metav1.ConditionTrue && degraded.status == metav1.ConditionTrue {
		return outcome{metav1.ConditionFalse, ReasonDegraded, degraded.message}
	}
	return available
}
