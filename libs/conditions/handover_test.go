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

// fold returns the conditions that the writer would write now.
func (w *writer) fold(o *object, now time.Time, seen *contract.Observation) conditions.Result {
	in := fresh(seen)
	in.Generation, in.Now, in.Previous, in.Memory = o.generation, now, o.conditions, w.memory
	return conditions.Compute(in)
}

// write computes the conditions and writes them to the object.
func (w *writer) write(o *object, now time.Time, seen *contract.Observation) conditions.Result {
	o.t.Helper()
	r := w.fold(o, now, seen)
	w.memory = conditions.State{}
	through(o.t, r.Memory, &w.memory)
	through(o.t, r.Conditions, &o.conditions)
	return r
}

// happen draws the next observation of the operator, which observes spec changes at once.
func happen(r *rand.Rand, o *object) *contract.Observation {
	if r.IntN(20) == 0 {
		o.generation++
	}
	shapes := []func(*contract.Unit){
		func(*contract.Unit) {}, func(*contract.Unit) {}, available(1), available(0), zero,
		func(u *contract.Unit) { available(1)(u); failing(contract.FailureCrashLoop, 1)(u) },
		func(u *contract.Unit) { available(1)(u); failing(contract.FailureNodeLost, 1)(u) },
		func(u *contract.Unit) { available(1)(u); failing(contract.FailureUnschedulable, 1)(u) },
		func(u *contract.Unit) { u.Current, u.Updated = 3, 1 },
	}
	seen := healthy(units(unit("web", shapes[r.IntN(len(shapes))])), func(s *contract.Observation) {
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
// lasted for its hold-down according to a witness that never stopped, while the operator had to
// restart the hold-down.
func TestHandoverChangesNoCondition(t *testing.T) {
	handOvers, late, early := 0, 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 6)) // a history must be repeatable
		o := &object{t: t, generation: 2}
		aggregator, operator, witness := &writer{}, &writer{}, &writer{}
		shadow := &object{t: t, generation: 2}
		now, present := start, aggregator
		var seen *contract.Observation
		for i := range 60 {
			if seen == nil || r.IntN(3) > 0 {
				seen = happen(r, o)
			}
			published := seen.Bounded()
			if diff := cmp.Diff(present.fold(o, now, &published).Conditions, present.fold(o, now, seen).Conditions); diff != "" {
				t.Fatalf("seed %d, step %d: conditions -of what is published +of what the operator holds\n%s", seed, i, diff)
			}
			said := present.write(o, now, seen)
			shadow.generation = o.generation
			truth := find(witness.write(shadow, now, seen).Conditions, conditions.TypeDegraded)
			if r.IntN(6) == 0 {
				if present = aggregator; r.IntN(2) == 0 {
					operator.memory = conditions.State{} // it drops its State while the aggregator writes
					present = operator
				}
				handOvers++
				after := present.write(o, now, seen)
				if truth.Status == metav1.ConditionTrue && find(said.Conditions, conditions.TypeDegraded).Status == metav1.ConditionFalse {
					late++
					continue
				}
				// A failure that appeared and cleared while a writer was unavailable, without a change of a
				// condition, is not recorded: the recovery counts from before it.
				if find(said.Conditions, conditions.TypeDegraded).Reason == conditions.ReasonRecovering &&
					find(after.Conditions, conditions.TypeDegraded).Status == metav1.ConditionFalse {
					early++
					continue
				}
				if problem := turned(said, after); problem != "" {
					t.Fatalf("seed %d, step %d: %s\nobservation %+v\nbefore %+v\nafter %+v", seed, i, problem, seen, said, o.conditions)
				}
			}
			now = now.Add(time.Duration(1+r.IntN(90)) * time.Second)
		}
	}
	t.Logf("%d handovers, in %d of them the former writer was late, in %d the next one early", handOvers, late, early)
}

// turned compares the conditions of two writers at the same time for the same observation.
func turned(before, after conditions.Result) string {
	for _, c := range before.Conditions {
		if now := find(after.Conditions, c.Type); now.Status != c.Status || !now.LastTransitionTime.Equal(&c.LastTransitionTime) || now.ObservedGeneration != c.ObservedGeneration {
			return fmt.Sprintf("%s was %s (%s) of %s and is %s (%s) of %s", c.Type, c.Status, c.Reason, c.LastTransitionTime, now.Status, now.Reason, now.LastTransitionTime)
		}
	}
	return ""
}

// Conditions that a writer would set too early or too late after an outage, case by case.
func TestOutdatedStateIsIgnored(t *testing.T) {
	third := func(change ...func(*contract.Unit)) *contract.Observation {
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
			{time.Minute, "operator", lacking, "False/WithinTolerance"},
			{hold, "operator", lacking, "True/InsufficientReplicas"},
			{time.Minute, "aggregator", lacking, "True/InsufficientReplicas"},
		},
		"a failure after the other writer saw a recovery is held again": {
			{0, "aggregator", crashing, "True/CrashLoop"},
			{time.Minute, "operator", healthy(), "True/Recovering"},
			{recovery, "operator", healthy(), "False/AsExpected"},
			{time.Minute, "aggregator", lacking, "False/WithinTolerance"},
			{hold, "aggregator", lacking, "True/InsufficientReplicas"},
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
			{time.Minute, "operator", third(available(0)), "False/AsExpected"},
			{time.Minute, "operator", third(), "False/AsExpected"},
			{time.Minute, "operator", third(available(1)), "False/WithinTolerance"},
			{hold, "operator", third(available(1)), "True/InsufficientReplicas"},
			{time.Second, "aggregator", third(available(1)), "True/InsufficientReplicas"},
			{time.Hour, "aggregator", third(available(1)), "True/InsufficientReplicas"},
		},
		"a stop by the other writer is followed by a rollout": {
			{0, "aggregator", healthy(), "False/AsExpected"},
			{time.Minute, "operator", stoppedNow(healthy(units(unit("web", zero)))), "False/Stopped"},
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
				if got := one(t, writers[a.by].write(o, now, a.seen), conditions.TypeDegraded); got != a.want {
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
	waiting := held(conditions.ReasonAwaitingApproval)
	aggregator, operator := &writer{}, &writer{}
	first := healthy()
	first.Object.Generation, first.ObservedGeneration, o.generation = 1, 1, 1
	aggregator.write(o, now, first)
	o.generation = 2
	aggregator.write(o, now, healthy(waiting))
	short := healthy(waiting, units(unit("web", available(1))))
	operator.write(o, now, short)
	r := operator.write(o, now.Add(conditions.MissingReplicasHold), short)
	compare(t, answers{Degraded: "True/InsufficientReplicas"}, r)
}

// A failed write does not count as a change by another writer: the State stays valid.
func TestHoldDownSurvivesLostWrite(t *testing.T) {
	h := newHistory(t)
	h.fold(0, healthy())
	h.fold(time.Minute, lacking)
	before := h.stands
	h.fold(conditions.MissingReplicasHold, lacking)
	h.stands = before // the API server rejected the write
	compare(t, answers{Degraded: "True/InsufficientReplicas"}, h.fold(time.Second, lacking))
}

// A condition of another owner does not identify the writer of ours.
func TestForeignReadyKeepsState(t *testing.T) {
	h := newHistory(t)
	without := func(in *conditions.Input) {
		in.WithReady = false
		in.Previous = append(in.Previous, metav1.Condition{Type: conditions.TypeReady, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(h.now)})
	}
	h.fold(0, healthy(), without)
	h.fold(time.Minute, lacking, without)
	compare6 := func(r conditions.Result, want string) {
		t.Helper()
		if got := one(t, r, conditions.TypeDegraded); got != want {
			t.Errorf("Degraded is %s, want %s", got, want)
		}
	}
	compare6(h.fold(time.Minute, lacking, without), "False/WithinTolerance")
	compare6(h.fold(time.Minute, lacking, without), "True/InsufficientReplicas")
}
