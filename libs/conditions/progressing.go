package conditions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// progressingRules read the units of every role.
var progressingRules = []rule{
	deleting,
	paused,
	specNotObserved,
	jobRunning,
	jobFailed,
	reconcileError,
	stopping,
	specNotApplied,
	unitsProgressing,
	stalled,
	specWaiting,
	asExpected,
}

func deleting(e *evaluation) (outcome, bool) {
	if !e.deleting() {
		return noMatch()
	}
	return conditionTrue(ReasonDeleting, "The object is being deleted.")
}

func paused(e *evaluation) (outcome, bool) {
	if !e.o.Intent.Paused || e.specApplied() {
		return noMatch()
	}
	return conditionFalse(ReasonReconciliationPaused, "Reconciliation is paused"+by(e.o.Intent.PausedBy)+"; the latest spec is not applied.")
}

func specNotObserved(e *evaluation) (outcome, bool) {
	if e.specRead() {
		return noMatch()
	}
	return conditionTrue(ReasonSpecNotObserved, "The latest spec is not observed yet.")
}

func jobRunning(e *evaluation) (outcome, bool) {
	active := e.activeJobs()
	if len(active) == 0 {
		return noMatch()
	}
	sentences := []string{"Waiting for " + list(active) + "."}
	for _, u := range e.units(func(u contract.Unit) bool { return slices.Contains(active, u.Name) && isStalled(u) }) {
		if causes := unitFindings(e, u); len(causes) > 0 {
			sentences = append(sentences, causes[0].message)
		}
	}
	return conditionTrue(ReasonJobRunning, strings.Join(sentences, " "))
}

func jobFailed(e *evaluation) (outcome, bool) {
	var failed []string
	for _, j := range e.o.Jobs {
		if j.State == contract.JobFailed {
			failed = append(failed, strings.TrimSuffix(jobMessage(j), "."))
		}
	}
	if len(failed) == 0 {
		return noMatch()
	}
	return conditionFalse(ReasonJobFailed, sentence(failed))
}

func reconcileError(e *evaluation) (outcome, bool) {
	if !e.rejected() {
		return noMatch()
	}
	return conditionFalse(reconcileReason(e.o.Reconcile), reconcileMessage(e.o.Reconcile))
}

func stopping(e *evaluation) (outcome, bool) {
	if !e.o.Intent.Stopped || e.o.Intent.Paused || e.pods() == 0 {
		return noMatch()
	}
	return conditionTrue(ReasonStopping, "The object is stopping; "+podsLeft(e.pods())+".")
}

func specNotApplied(e *evaluation) (outcome, bool) {
	if e.specApplied() || e.waiting() {
		return noMatch()
	}
	return conditionTrue(ReasonSpecNotObserved, "The latest spec is not applied to all workloads yet.")
}

func unitsProgressing(e *evaluation) (outcome, bool) {
	var parts []string
	growing, shrinking := false, false
	for _, u := range e.o.Units {
		if !isProgressing(u) || isStalled(u) {
			continue
		}
		growing = growing || short(u)
		shrinking = shrinking || !short(u)
		parts = append(parts, progressMessage(u))
	}
	switch {
	case len(parts) == 0:
		return noMatch()
	case e.rollingOut():
		return conditionTrue(ReasonRollingOut, sentence(parts))
	case growing:
		return conditionTrue(ReasonReplicasMissing, sentence(parts))
	case shrinking:
		return conditionTrue(ReasonScalingDown, sentence(parts))
	}
	return noMatch()
}

func stalled(e *evaluation) (outcome, bool) {
	units := e.units(func(u contract.Unit) bool { return u.Role != contract.Outgoing && isStalled(u) })
	if len(units) == 0 {
		return noMatch()
	}
	return conditionFalse(ReasonStalled, list(names(units))+" is stalled.")
}

// specWaiting matches a spec that waits for an approval or for a rollout slot: it does not
// progress by itself, but the running version may.
func specWaiting(e *evaluation) (outcome, bool) {
	if !e.waiting() {
		return noMatch()
	}
	return conditionFalse(e.o.Reconcile.Reason, orElse(e.o.Reconcile.Message, "The latest spec is waiting to be applied."))
}

func asExpected(*evaluation) (outcome, bool) {
	return conditionFalse(ReasonAsExpected, "All components match the spec.")
}

// isProgressing reports whether a unit has not reached its desired state.
func isProgressing(u contract.Unit) bool {
	if replacing(u) || short(u) {
		return true
	}
	if u.Role == contract.Outgoing {
		return false
	}
	return u.Present && (u.Updated < u.Desired || u.Current > u.Desired || u.Available > u.Desired)
}

// isStalled reports whether waiting alone does not make a unit progress.
func isStalled(u contract.Unit) bool {
	if u.Stalled {
		return true
	}
	for _, f := range u.Failures {
		if f.Count > 0 && class(f.Class).stalls(u) {
			return true
		}
	}
	return false
}

func progressMessage(u contract.Unit) string {
	switch {
	case u.Role == contract.Outgoing:
		return u.Name + " is terminating"
	case u.Role == contract.Incoming:
		return fmt.Sprintf("%s is starting with %d of %d replicas available", u.Name, count(u, u.Available), u.Desired)
	case short(u):
		return fmt.Sprintf("%s has %d of %d replicas available", u.Name, count(u, u.Available), u.Desired)
	case u.Updated < u.Desired:
		return fmt.Sprintf("%s has %d of %d replicas updated", u.Name, max(0, u.Updated), u.Desired)
	default:
		return fmt.Sprintf("%s scales down to %d of %d replicas", u.Name, u.Desired, max(u.Current, u.Available))
	}
}
