package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// verdict is the answer for one condition type.
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

// rule answers, or passes to the next one.
type rule func(*view) (verdict, bool)

// firstMatch returns the first answer. The last rule of every list always answers.
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

// covered is the generation that the observation speaks for: what was applied and
// what every child has seen. A cache that lags behind the observer lowers it.
func (v *view) covered() int64 {
	return max(0, min(v.o.ObservedGeneration, v.in.Generation))
}

// observedGeneration is what a condition of this type claims. Paused is about what
// the user asked for, which the observer knows once it has read the spec, even
// though it then applies nothing. So are Progressing, Degraded and Upgradable of a
// spec that takes no effect: what they say holds for that spec. Available and Stopped
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

// read is the generation that the observer has read.
func (v *view) read() int64 { return max(0, min(v.o.Object.Generation, v.in.Generation)) }

// pinned reports whether the spec that was read takes no effect for now: waiting alone
// does not bring it about.
func (v *view) pinned() bool {
	return v.o.Intent.Paused || v.refused() || v.held() || (v.taskFailed() && !v.taskRuns())
}

// refused reports whether no retry can succeed before the spec, or what it refers to, changes.
func (v *view) refused() bool {
	return v.o.Reconcile.Outcome == contract.Failed && v.o.Reconcile.Terminal
}

// held reports whether the spec waits for something although nothing is wrong.
func (v *view) held() bool {
	return v.o.Reconcile.Outcome == contract.Succeeded && slices.Contains(Holds(), v.o.Reconcile.Reason)
}

// specSeen says whether the observer has read the newest spec.
func (v *view) specSeen() bool { return v.o.Object.Generation >= v.in.Generation }

// specApplied says whether the newest spec was applied and every child has seen it.
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

// settle returns the newest generation known to be rolled out: the covered one when
// everything stands as wanted, none while old pods are being replaced, a task runs or
// a stop is asked for, since what follows each of these is a roll-out again.
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

// activeJobs are the tasks that run or are about to. What waits behind a task that
// failed for the last time is not.
func (v *view) activeJobs() []string {
	if v.taskFailed() {
		return v.jobsIn(contract.JobRunning)
	}
	return v.jobsIn(contract.JobPending, contract.JobRunning)
}

// rollingOut says whether the object is on its way to a new spec, as opposed to
// having lost what it had. A spec that takes no effect leaves what was rolled out before.
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

// explained reports whether a roll-out accounts for the missing replicas of a serving
// unit. One that brings another unit in beside it touches no pod of it.
func (v *view) explained(u contract.Unit) bool {
	beside := func(o contract.Unit) bool { return o.Role == contract.Incoming && o.Kind == u.Kind }
	if u.Routed && !v.o.Intent.Stopped && slices.ContainsFunc(v.o.Units, beside) {
		return false
	}
	return v.rollingOut()
}

// replacing says whether a unit is being exchanged for another one, or its pods for newer ones.
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

// short says whether a unit that is meant to run has fewer available replicas than wanted.
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
