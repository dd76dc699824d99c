package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// verdict is the result for one condition type.
type verdict struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

func yes(reason, message string) (verdict, bool) {
	return verdict{metav1.ConditionTrue, reason, message}, true
}

func no(reason, message string) (verdict, bool) {
	return verdict{metav1.ConditionFalse, reason, message}, true
}

func unknown(reason, message string) (verdict, bool) {
	return verdict{metav1.ConditionUnknown, reason, message}, true
}

func pass() (verdict, bool) { return verdict{}, false }

// rule returns a verdict, or passes to the next rule.
type rule func(*view) (verdict, bool)

// firstMatch returns the first verdict. The last rule of every list always has one.
func firstMatch(rules []rule, v *view) verdict {
	for _, r := range rules {
		if says, ok := r(v); ok {
			return says
		}
	}
	return verdict{metav1.ConditionUnknown, ReasonNotYetObserved, "No rule applies."}
}

// view is the observation as the rules read it.
type view struct {
	in       Input
	o        *contract.Observation
	memory   State
	told     metav1.Condition // Degraded, as the object carries it
	findings []finding
}

func newView(in Input, old map[string]metav1.Condition) *view {
	v := &view{in: in, o: in.Observation, told: old[TypeDegraded]}
	v.memory = recall(in, old)
	if heard(in) {
		v.memory.Settled = v.settle()
		v.findings = findings(v)
	}
	return v
}

// covered returns the generation that the observation is valid for: it was applied and
// every child has observed it. A cache that is older than the observation lowers it.
func (v *view) covered() int64 {
	return max(0, min(v.o.ObservedGeneration, v.in.Generation))
}

// observedGeneration returns the observedGeneration of a condition of this type. Paused
// describes the user's request, which is observed once the observer has read the spec,
// even though it then applies nothing. So do Progressing, Degraded and Upgradable of a
// spec that takes no effect: they are valid for that spec. Available and Stopped
// describe what runs.
func (v *view) observedGeneration(conditionType string) int64 {
	switch conditionType {
	case TypePaused:
		return v.read()
	case TypeProgressing, TypeDegraded, TypeUpgradable:
		if v.pinned() {
			return max(v.read(), v.covered())
		}
	}
	return v.covered()
}

// read returns the generation that the observer has read.
func (v *view) read() int64 { return max(0, min(v.o.Object.Generation, v.in.Generation)) }

// pinned reports whether the spec that was read takes no effect for now: waiting alone
// does not change that.
func (v *view) pinned() bool {
	return v.o.Intent.Paused || v.refused() || v.held() || (v.taskFailed() && !v.taskRuns())
}

// refused reports whether no retry can succeed before the spec, or what it refers to, changes.
func (v *view) refused() bool {
	return v.o.Reconcile.Outcome == contract.Failed && v.o.Reconcile.Terminal
}

// held reports whether the spec waits without a failure.
func (v *view) held() bool {
	return v.o.Reconcile.Outcome == contract.Succeeded && slices.Contains(Holds(), v.o.Reconcile.Reason)
}

// specSeen reports whether the observer has read the latest spec.
func (v *view) specSeen() bool { return v.o.Object.Generation >= v.in.Generation }

// specApplied reports whether the latest spec was applied and every child has observed it.
func (v *view) specApplied() bool { return v.covered() >= v.in.Generation && v.covered() > 0 }

func (v *view) deleting() bool { return v.in.Deleting || v.o.Deleting }

func (v *view) jobsIn(states ...contract.JobState) []string {
	var names []string
	for _, j := range v.o.Jobs {
		for _, s := range states {
			if j.State == s {
				names = append(names, j.Name)
			}
		}
	}
	return names
}

func (v *view) units(match func(contract.Unit) bool) []contract.Unit {
	var out []contract.Unit
	for _, u := range v.o.Units {
		if match(u) {
			out = append(out, u)
		}
	}
	return out
}

func serves(u contract.Unit) bool { return u.Role == contract.Serving }

// settle returns the newest generation known to be rolled out: the covered one if
// observed matches desired, none while old pods are being replaced, a task runs or
// a stop is requested, since a rollout follows each of these.
func (v *view) settle() int64 {
	if v.o.Intent.Stopped || v.taskRuns() || len(v.units(replacing)) > 0 {
		return 0
	}
	if v.specApplied() && len(v.units(short)) == 0 {
		return v.covered()
	}
	return v.memory.Settled
}

func (v *view) taskRuns() bool { return len(v.activeJobs()) > 0 }

func (v *view) taskFailed() bool { return len(v.jobsIn(contract.JobFailed)) > 0 }

// activeJobs returns the tasks that run or will run. A task that waits for one that
// failed for the last time is not among them.
func (v *view) activeJobs() []string {
	if v.taskFailed() {
		return v.jobsIn(contract.JobRunning)
	}
	return v.jobsIn(contract.JobPending, contract.JobRunning)
}

// rollingOut reports whether the object changes to a new spec, as opposed to having
// lost replicas. A spec that takes no effect leaves what was rolled out before.
func (v *view) rollingOut() bool {
	switch {
	case v.taskRuns():
		return true
	case v.pinned() && !v.specApplied():
		return v.memory.Settled == 0 || v.covered() == 0
	default:
		return !v.specApplied() || v.memory.Settled != v.covered()
	}
}

// explained reports whether a rollout accounts for the missing replicas of a serving
// unit. A rollout that adds another unit changes no pod of this one.
func (v *view) explained(u contract.Unit) bool {
	beside := func(o contract.Unit) bool { return o.Role == contract.Incoming && o.Kind == u.Kind }
	if u.Routed && !v.o.Intent.Stopped && slices.ContainsFunc(v.o.Units, beside) {
		return false
	}
	return v.rollingOut()
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

// count is a figure of a unit; an absent unit has none.
func count(u contract.Unit, n int32) int32 {
	if !u.Present {
		return 0
	}
	return max(0, n)
}
