package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pausedRules report the intent that the observer has read. A newer spec does not make the
// condition Unknown: its observedGeneration shows which spec was read.
var pausedRules = []rule{
	func(v *view) (verdict, bool) {
		if !v.o.Intent.Paused {
			return pass()
		}
		return yes(ReasonReconciliationPaused, "Reconciliation is paused on request"+by(v.o.Intent.PausedBy)+".")
	},
	func(*view) (verdict, bool) { return no(ReasonNotPaused, "Reconciled.") },
}

// stoppedRules report the fact, not the intent: Stopped is True when no pods are left.
var stoppedRules = []rule{
	func(v *view) (verdict, bool) {
		if v.o.Intent.Stopped {
			return pass()
		}
		return no(ReasonRunning, "No stop is requested.")
	},
	func(v *view) (verdict, bool) {
		if v.pods() > 0 {
			return pass()
		}
		return yes(ReasonStopped, "Stopped on request"+by(v.o.Intent.StoppedBy)+"; no pods are left.")
	},
	func(v *view) (verdict, bool) {
		if !v.o.Intent.Paused {
			return pass()
		}
		return unknown(ReasonReconciliationPaused, "A stop is requested"+by(v.o.Intent.StoppedBy)+", but reconciliation is paused.")
	},
	func(v *view) (verdict, bool) {
		return no(ReasonStopping, "Stopping on request"+by(v.o.Intent.StoppedBy)+"; "+podsLeft(v.pods())+".")
	},
}

// pods counts the pods of all units and running tasks, including terminating ones.
func (v *view) pods() int {
	n := len(v.activeJobs())
	for _, u := range v.o.Units {
		n += int(max(0, u.Current, u.Ready, u.Available)) + int(max(0, u.Terminating))
	}
	return n
}

// upgradable derives Upgradable from the other conditions: an upgrade begins only from a
// steady, healthy, reconciled state.
func upgradable(v *view, progressing, degraded verdict) verdict {
	refuse := func(reason, message string) verdict {
		return verdict{metav1.ConditionFalse, reason, message}
	}
	switch {
	case v.deleting():
		return refuse(ReasonDeleting, "The object is being deleted.")
	case v.o.Intent.Paused:
		return refuse(ReasonReconciliationPaused, "Paused"+by(v.o.Intent.PausedBy)+".")
	case v.o.Intent.Stopped:
		return refuse(ReasonStopped, "A stop is requested"+by(v.o.Intent.StoppedBy)+"; tasks do not start.")
	case progressing.status == metav1.ConditionTrue:
		return refuse(progressing.reason, progressing.message)
	case degraded.status == metav1.ConditionTrue:
		return refuse(ReasonDegraded, degraded.message)
	case len(v.findings) > 0:
		return refuse(v.findings[0].reason, v.findings[0].message)
	case v.held():
		return refuse(v.o.Reconcile.Reason, orElse(v.o.Reconcile.Message, "The latest spec is waiting to be applied."))
	case len(v.o.UpgradeBlockers) > 0:
		return refuse(ReasonUpgradeBlocked, sentence(slices.Clone(v.o.UpgradeBlockers)))
	}
	return verdict{metav1.ConditionTrue, ReasonAsExpected, "An upgrade may begin."}
}

// ready derives the summary: available and not degraded.
func ready(available, degraded verdict) verdict {
	if available.status == metav1.ConditionTrue && degraded.status == metav1.ConditionTrue {
		return verdict{metav1.ConditionFalse, ReasonDegraded, degraded.message}
	}
	return available
}
