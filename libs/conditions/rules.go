package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// outcome is the result for one condition type.
type outcome struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

func conditionTrue(reason, message string) (outcome, bool) {
	return outcome{metav1.ConditionTrue, reason, message}, true
}

func conditionFalse(reason, message string) (outcome, bool) {
	return outcome{metav1.ConditionFalse, reason, message}, true
}

func conditionUnknown(reason, message string) (outcome, bool) {
	return outcome{metav1.ConditionUnknown, reason, message}, true
}

func noMatch() (outcome, bool) { return outcome{}, false }

// rule returns an outcome, or reports that it does not match.
type rule func(*evaluation) (outcome, bool)

// firstMatch returns the outcome of the first rule that matches. The last rule of every list always matches.
func firstMatch(rules []rule, e *evaluation) outcome {
	for _, r := range rules {
		if o, ok := r(e); ok {
			return o
		}
	}
	return outcome{metav1.ConditionUnknown, ReasonNotYetObserved, "No rule applies."}
}

// evaluation is the observation as the rules read it.
type evaluation struct {
	in        Input
	o         *contract.Observation
	state     State
	published metav1.Condition // Degraded, as the object carries it
	findings  []finding
}

func newEvaluation(in Input, old map[string]metav1.Condition) *evaluation {
	e := &evaluation{in: in, o: in.Observation, published: old[TypeDegraded]}
	e.state = loadState(in, old)
	if isFresh(in) {
		e.state.Settled = e.rolledOutGeneration()
		e.findings = findings(e)
	}
	return e
}

// appliedGeneration returns the generation that the observation is valid for: it was applied and
// every child has observed it. A cache that is older than the observation lowers it.
func (e *evaluation) appliedGeneration() int64 {
	return max(0, min(e.o.ObservedGeneration, e.in.Generation))
}

// observedGeneration returns the observedGeneration of a condition of this type. Paused
// describes the user's request, which is observed once the observer has read the spec,
// even though it then applies nothing. So do Progressing, Degraded and Upgradable of a
// spec that takes no effect: they are valid for that spec. Available and Stopped
// describe what runs.
func (e *evaluation) observedGeneration(conditionType string) int64 {
	switch {
	case conditionType == TypePaused:
		return e.readGeneration()
	case MayPrecedeApply(conditionType) && e.pinned():
		return max(e.readGeneration(), e.appliedGeneration())
	default:
		return e.appliedGeneration()
	}
}

// MayPrecedeApply reports whether the observedGeneration of conditions of this type may be that of a spec that was read and
// takes no effect. Conditions of the other types have a generation that was applied.
func MayPrecedeApply(conditionType string) bool {
	switch conditionType {
	case TypePaused, TypeProgressing, TypeDegraded, TypeUpgradable:
		return true
	default:
		return false
	}
}

// readGeneration returns the generation that the observer has read.
func (e *evaluation) readGeneration() int64 {
	return max(0, min(e.o.Object.Generation, e.in.Generation))
}

// pinned reports whether the spec that was read takes no effect, and waiting alone does
// not change that.
func (e *evaluation) pinned() bool {
	return e.o.Intent.Paused || e.rejected() || e.waiting() || (e.taskFailed() && !e.taskRuns())
}

// rejected reports whether no retry can succeed before the spec, or what it refers to, changes.
func (e *evaluation) rejected() bool {
	return e.o.Reconcile.Outcome == contract.Failed && e.o.Reconcile.Terminal
}

// waiting reports whether the spec waits without a failure.
func (e *evaluation) waiting() bool {
	return e.o.Reconcile.Outcome == contract.Succeeded && slices.Contains(WaitingReasons(), e.o.Reconcile.Reason)
}

// specRead reports whether the observer has read the latest spec.
func (e *evaluation) specRead() bool { return e.o.Object.Generation >= e.in.Generation }

// specApplied reports whether the latest spec was applied and every child has observed it.
func (e *evaluation) specApplied() bool {
	return e.appliedGeneration() >= e.in.Generation && e.appliedGeneration() > 0
}

func (e *evaluation) deleting() bool { return e.in.Deleting || e.o.Deleting }

func (e *evaluation) jobsIn(states ...contract.JobState) []string {
	var names []string
	for _, j := range e.o.Jobs {
		for _, s := range states {
			if j.State == s {
				names = append(names, j.Name)
			}
		}
	}
	return names
}

func (e *evaluation) units(match func(contract.Unit) bool) []contract.Unit {
	var out []contract.Unit
	for _, u := range e.o.Units {
		if match(u) {
			out = append(out, u)
		}
	}
	return out
}

func serves(u contract.Unit) bool { return u.Role == contract.Serving }

// rolledOutGeneration returns the newest generation known to be rolled out: the applied one if
// observed matches desired, none while old pods are being replaced, a task runs or
// a stop is requested, since a rollout follows each of these.
func (e *evaluation) rolledOutGeneration() int64 {
	if e.o.Intent.Stopped || e.taskRuns() || len(e.units(replacing)) > 0 {
		return 0
	}
	if e.specApplied() && len(e.units(short)) == 0 {
		return e.appliedGeneration()
	}
	return e.state.Settled
}

func (e *evaluation) taskRuns() bool { return len(e.activeJobs()) > 0 }

func (e *evaluation) taskFailed() bool { return len(e.jobsIn(contract.JobFailed)) > 0 }

// activeJobs returns the tasks that run or will run. It excludes tasks that wait for a
// permanently failed one.
func (e *evaluation) activeJobs() []string {
	if e.taskFailed() {
		return e.jobsIn(contract.JobRunning)
	}
	return e.jobsIn(contract.JobPending, contract.JobRunning)
}

// rollingOut reports whether the object changes to a new spec, as opposed to having
// lost replicas. A spec that takes no effect does not start a rollout.
func (e *evaluation) rollingOut() bool {
	switch {
	case e.taskRuns():
		return true
	case e.pinned() && !e.specApplied():
		return e.state.Settled == 0 || e.appliedGeneration() == 0
	default:
		return !e.specApplied() || e.state.Settled != e.appliedGeneration()
	}
}

// explained reports whether a rollout accounts for the missing replicas of a serving
// unit. A rollout that adds another unit changes no pod of this one.
func (e *evaluation) explained(u contract.Unit) bool {
	isSurge := func(o contract.Unit) bool { return o.Role == contract.Incoming && o.Kind == u.Kind }
	if u.Routed && !e.o.Intent.Stopped && slices.ContainsFunc(e.o.Units, isSurge) {
		return false
	}
	return e.rollingOut()
}

// replacing reports whether a unit is being replaced by another one, or its pods by newer ones.
func replacing(u contract.Unit) bool {
	switch u.Role {
	case contract.Incoming:
		return true
	case contract.Outgoing:
		return u.Present
	default:
		return u.Present && (!u.Observed || u.Current > u.Updated)
	}
}

// short reports whether a unit that should run has fewer available replicas than desired.
func short(u contract.Unit) bool {
	return u.Role != contract.Outgoing && count(u, u.Available) < u.Desired
}

// count returns a replica count of a unit; an absent unit has none.
func count(u contract.Unit, n int32) int32 {
	if !u.Present {
		return 0
	}
	return max(0, n)
}
