package conditions_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// writer is one of the possible writers of the conditions of an object: it reads the
// object's conditions and has its own State.
type writer struct{ memory conditions.State }

// object is the object as the API server stores it.
type object struct {
	t          *testing.T
	generation int64
	conditions []metav1.Condition
}

// compute returns the conditions that the writer would write now.
func (w *writer) compute(o *object, now time.Time, seen *contract.Observation) conditions.Result {
	in := fresh(seen)
	in.Generation, in.Now, in.Previous, in.Memory = o.generation, now, o.conditions, w.memory
	return conditions.Compute(in)
}

// write computes the conditions and writes them to the object.
func (w *writer) write(o *object, now time.Time, seen *contract.Observation) conditions.Result {
	o.t.Helper()
	r := w.compute(o, now, seen)
	w.memory = conditions.State{}
	roundTrip(o.t, r.Memory, &w.memory)
	roundTrip(o.t, r.Conditions, &o.conditions)
	return r
}

// nextObservation draws the next observation of the operator, which observes spec changes at once.
func nextObservation(r *rand.Rand, o *object) *contract.Observation {
	if r.IntN(20) == 0 {
		o.generation++
	}
	changes := []func(*contract.Unit){
		func(*contract.Unit) {}, func(*contract.Unit) {}, available(1), available(0), zero,
		func(u *contract.Unit) { available(1)(u); failing(contract.FailureCrashLoop, 1)(u) },
		func(u *contract.Unit) { available(1)(u); failing(contract.FailureNodeLost, 1)(u) },
		func(u *contract.Unit) { available(1)(u); failing(contract.FailureUnschedulable, 1)(u) },
		func(u *contract.Unit) { u.Current, u.Updated = 3, 1 },
	}
	seen := healthy(units(unit("web", changes[r.IntN(len(changes))])), func(s *contract.Observation) {
		s.Object.Generation, s.ObservedGeneration = o.generation, o.generation
		s.Intent.Stopped = r.IntN(15) == 0
		s.Intent.Paused = r.IntN(15) == 0
	})
	if r.IntN(15) == 0 {
		job([]contract.JobState{contract.JobRunning, contract.JobFailed}[r.IntN(2)])(seen)
	}
	if r.IntN(10) == 0 {
		seen.Reconcile.Outcome = contract.Failed
		// Longer than the published message.
		seen.Reconcile.Message = strings.Repeat("é", r.IntN(contract.MaxTextBytes))
	}
	if o.generation > 2 && r.IntN(8) == 0 { // the latest spec is rejected, or waits
		seen.ObservedGeneration = o.generation - 1
		seen.Reconcile = []contract.Reconcile{
			{Outcome: contract.Failed, Terminal: true, Reason: conditions.ReasonInvalidSpec},
			{Outcome: contract.Succeeded, Reason: conditions.ReasonAwaitingApproval},
		}[r.IntN(2)]
	}
	if r.IntN(10) == 0 {
		seen.Dependencies = []contract.Dependency{{Kind: "FireboltInstance", Name: "i"}}
	}
	return seen
}

// An operator that becomes the writer has no State; an aggregator that restarts has the State
// from before its exit. A handover changes no condition, except in one case: a failure has
// lasted for its hold-down according to a writer that never stopped, while the operator had to
// restart the hold-down.
func TestHandoverChangesNoCondition(t *testing.T) {
	handovers, late, early := 0, 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 6)) // a history must be repeatable
		o := &object{t: t, generation: 2}
		aggregator, operator, continuous := &writer{}, &writer{}, &writer{}
		reference := &object{t: t, generation: 2}
		now, active := start, aggregator
		var seen *contract.Observation
		for i := range 60 {
			if seen == nil || r.IntN(3) > 0 {
				seen = nextObservation(r, o)
			}
			published := seen.Bounded()
			if diff := cmp.Diff(active.compute(o, now, &published).Conditions, active.compute(o, now, seen).Conditions); diff != "" {
				t.Fatalf("seed %d, step %d: conditions -of what is published +of what the operator holds\n%s", seed, i, diff)
			}
			written := active.write(o, now, seen)
			reference.generation = o.generation
			expected := find(continuous.write(reference, now, seen).Conditions, conditions.TypeDegraded)
			if r.IntN(6) == 0 {
				if active = aggregator; r.IntN(2) == 0 {
					operator.memory = conditions.State{} // it drops its State while the aggregator writes
					active = operator
				}
				handovers++
				after := active.write(o, now, seen)
				if expected.Status == metav1.ConditionTrue && find(written.Conditions, conditions.TypeDegraded).Status == metav1.ConditionFalse {
					late++
					continue
				}
				// A failure that appeared and cleared while a writer was unavailable, without a change of a
				// condition, is not recorded: the recovery counts from before it.
				if find(written.Conditions, conditions.TypeDegraded).Reason == conditions.ReasonRecovering &&
					find(after.Conditions, conditions.TypeDegraded).Status == metav1.ConditionFalse {
					early++
					continue
				}
				if problem := difference(written, after); problem != "" {
					t.Fatalf("seed %d, step %d: %s\nobservation %+v\nbefore %+v\nafter %+v", seed, i, problem, seen, written, o.conditions)
				}
			}
			now = now.Add(time.Duration(1+r.IntN(90)) * time.Second)
		}
	}
	t.Logf("%d handovers, in %d of them the former writer was late, in %d the next one early", handovers, late, early)
}

// difference compares the conditions of two writers at the same time for the same observation.
func difference(before, after conditions.Result) string {
	for _, c := range before.Conditions {
		if now := find(after.Conditions, c.Type); now.Status != c.Status || !now.LastTransitionTime.Equal(&c.LastTransitionTime) || now.ObservedGeneration != c.ObservedGeneration {
			return fmt.Sprintf("%s was %s (%s) of %s and is %s (%s) of %s", c.Type, c.Status, c.Reason, c.LastTransitionTime, now.Status, now.Reason, now.LastTransitionTime)
		}
	}
	return ""
}

// Conditions that a writer would set too early or too late after an outage, case by case.
func TestOutdatedStateIsIgnored(t *testing.T) {
	generation3 := func(change ...func(*contract.Unit)) *contract.Observation {
		return healthy(units(unit("web", change...)), func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 3, 3 })
	}
	type act struct {
		after time.Duration
		by    string
		seen  *contract.Observation
		want  string // Degraded
	}
	const hold, recovery = conditions.MissingReplicasHold, conditions.RecoveryHold
	tests := map[string][]act{
		"a failure that the other writer reported stays": {
			{0, "aggregator", healthy(), "False/AsExpected"},
			{time.Minute, "operator", missingReplica, "False/WithinTolerance"},
			{hold, "operator", missingReplica, "True/InsufficientReplicas"},
			{time.Minute, "aggregator", missingReplica, "True/InsufficientReplicas"},
		},
		"a failure after the other writer saw a recovery is held again": {
			{0, "aggregator", crashing, "True/CrashLoop"},
			{time.Minute, "operator", healthy(), "True/Recovering"},
			{recovery, "operator", healthy(), "False/AsExpected"},
			{time.Minute, "aggregator", missingReplica, "False/WithinTolerance"},
			{hold, "aggregator", missingReplica, "True/InsufficientReplicas"},
		},
		"a recovery that the other writer began is not shortened": {
			{0, "aggregator", healthy(), "False/AsExpected"},
			{time.Minute, "operator", crashing, "True/CrashLoop"},
			{time.Minute, "operator", healthy(), "True/Recovering"},
			{time.Second, "aggregator", healthy(), "True/Recovering"},
			{recovery, "aggregator", healthy(), "False/AsExpected"},
		},
		"a rollout that the other writer saw complete is over": {
			{0, "aggregator", healthy(), "False/AsExpected"},
			{time.Minute, "operator", generation3(available(0)), "False/AsExpected"},
			{time.Minute, "operator", generation3(), "False/AsExpected"},
			{time.Minute, "operator", generation3(available(1)), "False/WithinTolerance"},
			{hold, "operator", generation3(available(1)), "True/InsufficientReplicas"},
			{time.Second, "aggregator", generation3(available(1)), "True/InsufficientReplicas"},
			{time.Hour, "aggregator", generation3(available(1)), "True/InsufficientReplicas"},
		},
		"a stop by the other writer is followed by a rollout": {
			{0, "aggregator", healthy(), "False/AsExpected"},
			{time.Minute, "operator", withStop(healthy(units(unit("web", zero)))), "False/Stopped"},
			{time.Minute, "aggregator", healthy(units(unit("web", available(0)))), "False/AsExpected"},
			{hold, "aggregator", healthy(units(unit("web", available(0)))), "False/AsExpected"},
		},
	}
	for name, acts := range tests {
		t.Run(name, func(t *testing.T) {
			o, now := &object{t: t, generation: 2}, start
			writers := map[string]*writer{"aggregator": {}, "operator": {}}
			for i, a := range acts {
				now, o.generation = now.Add(a.after), a.seen.Object.Generation
				if got := statusAndReason(t, writers[a.by].write(o, now, a.seen), conditions.TypeDegraded); got != a.want {
					t.Errorf("act %d, %s: Degraded is %s, want %s", i, a.by, got, a.want)
				}
			}
		})
	}
}

// The next writer restores the generation that was rolled out before a waiting spec: replicas
// that this generation loses count as missing.
func TestHandoverKeepsRolledOutGeneration(t *testing.T) {
	o, now := &object{t: t, generation: 2}, start
	waiting := awaiting(conditions.ReasonAwaitingApproval)
	aggregator, operator := &writer{}, &writer{}
	first := healthy()
	first.Object.Generation, first.ObservedGeneration, o.generation = 1, 1, 1
	aggregator.write(o, now, first)
	o.generation = 2
	aggregator.write(o, now, healthy(waiting))
	short := healthy(waiting, units(unit("web", available(1))))
	operator.write(o, now, short)
	r := operator.write(o, now.Add(conditions.MissingReplicasHold), short)
	compare(t, statuses{Degraded: "True/InsufficientReplicas"}, r)
}

// A spec that waited is rolled out once it is approved: the next writer does not count it as rolled out before.
func TestHandoverKeepsPendingRollout(t *testing.T) {
	lost := units(unit("web", available(1)))
	waiting := healthy(awaiting(conditions.ReasonAwaitingApproval), lost)
	o, former, next := &object{t: t, generation: 1}, &writer{}, &writer{}
	former.write(o, start, healthy(func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 1, 1 }))
	o.generation = 2
	former.write(o, start, waiting)
	next.write(o, start, waiting)
	for _, after := range []time.Duration{conditions.RecoveryHold, 2 * conditions.MissingReplicasHold} {
		compare(t, statuses{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}, next.write(o, start.Add(after), healthy(lost)))
	}
}

// A failed write does not count as a change by another writer: the State stays valid.
func TestHoldDownSurvivesLostWrite(t *testing.T) {
	h := newHistory(t)
	h.compute(0, healthy())
	h.compute(time.Minute, missingReplica)
	before := h.conditions
	h.compute(conditions.MissingReplicasHold, missingReplica)
	h.conditions = before // the API server rejected the write
	compare(t, statuses{Degraded: "True/InsufficientReplicas"}, h.compute(time.Second, missingReplica))
}

// A condition of another owner does not identify the writer of ours.
func TestForeignReadyKeepsState(t *testing.T) {
	h := newHistory(t)
	withoutReady := func(in *conditions.Input) {
		in.WithReady = false
		in.Previous = append(in.Previous, metav1.Condition{Type: conditions.TypeReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(h.now)})
	}
	h.compute(0, healthy(), withoutReady)
	h.compute(time.Minute, missingReplica, withoutReady)
	compareDegraded := func(r conditions.Result, want string) {
		t.Helper()
		if got := statusAndReason(t, r, conditions.TypeDegraded); got != want {
			t.Errorf("Degraded is %s, want %s", got, want)
		}
	}
	compareDegraded(h.compute(time.Minute, missingReplica, withoutReady), "False/WithinTolerance")
	compareDegraded(h.compute(time.Minute, missingReplica, withoutReady), "True/InsufficientReplicas")
}
