package conditions_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var (
	missingReplica = healthy(units(unit("web", available(1))))
	crashing       = healthy(units(unit("web", available(1), failing(contract.FailureCrashLoop, 1))))
	createFailing  = healthy(units(unit("web", available(1), failing(contract.FailureCreateFailed, 1))))
)

// step is one call of Compute in the history of an object.
type step struct {
	after time.Duration
	o     *contract.Observation
	want  string        // Degraded
	next  time.Duration // from now; 0 means no deadline
}

func TestDegradedFollowsHoldDown(t *testing.T) {
	for _, histories := range []map[string][]step{holdDowns(), shortHoldDowns(), recoveries()} {
		for name, steps := range histories {
			t.Run(name, func(t *testing.T) { checkSteps(t, steps) })
		}
	}
}

// holdDowns returns failures that last for their hold-down, with and without interruption.
func holdDowns() map[string][]step {
	const hold = conditions.MissingReplicasHold
	return map[string][]step{
		"missing replicas degrade at the deadline and not before": {
			{0, healthy(), "False/AsExpected", 0},
			{time.Minute, missingReplica, "False/WithinTolerance", hold},
			{hold - time.Nanosecond, missingReplica, "False/WithinTolerance", time.Nanosecond},
			{time.Nanosecond, missingReplica, "True/InsufficientReplicas", 0},
		},
		"an interruption shortens the hold-down by half of its length": {
			{0, healthy(), "False/AsExpected", 0},
			{time.Minute, missingReplica, "False/WithinTolerance", hold},
			{hold / 2, healthy(), "False/AsExpected", 0},
			{20 * time.Second, missingReplica, "False/WithinTolerance", hold/2 + 10*time.Second},
			{hold / 2, missingReplica, "False/WithinTolerance", 10 * time.Second},
			{10 * time.Second, missingReplica, "True/InsufficientReplicas", 0},
		},
		"a long interruption restarts the hold-down": {
			{0, healthy(), "False/AsExpected", 0},
			{time.Minute, missingReplica, "False/WithinTolerance", hold},
			{hold / 2, healthy(), "False/AsExpected", 0},
			{hold, missingReplica, "False/WithinTolerance", hold},
		},
		"one held failure follows another": {
			{0, healthy(), "False/AsExpected", 0},
			{0, missingReplica, "False/WithinTolerance", hold},
			{hold / 2, healthy(func(o *contract.Observation) { o.Reconcile.Outcome = contract.Failed }), "False/WithinTolerance", hold / 2},
			{hold / 2, missingReplica, "True/InsufficientReplicas", 0},
		},
	}
}

// shortHoldDowns returns failures that degrade before the hold-down of missing replicas ends.
func shortHoldDowns() map[string][]step {
	const hold = conditions.MissingReplicasHold
	return map[string][]step{
		"a crash ends a hold-down": {
			{0, healthy(), "False/AsExpected", 0},
			{0, missingReplica, "False/WithinTolerance", hold},
			{time.Second, crashing, "True/CrashLoop", 0},
		},
		"a pod that cannot be created degrades within seconds": {
			{0, healthy(), "False/AsExpected", 0},
			{0, createFailing, "False/WithinTolerance", conditions.CreateFailureHold},
			{conditions.CreateFailureHold, createFailing, "True/CreateFailed", 0},
		},
		"it degrades at once when replicas have been missing for longer": {
			{0, healthy(), "False/AsExpected", 0},
			{0, missingReplica, "False/WithinTolerance", hold},
			{hold / 2, createFailing, "True/CreateFailed", 0},
		},
	}
}

func recoveries() map[string][]step {
	const hold, recovery = conditions.MissingReplicasHold, conditions.RecoveryHold
	return map[string][]step{
		"recovery is held, and any failure restarts it": {
			{0, crashing, "True/CrashLoop", 0},
			{time.Minute, healthy(), "True/Recovering", recovery},
			{recovery - time.Second, healthy(), "True/Recovering", time.Second},
			{0, missingReplica, "True/InsufficientReplicas", 0},
			{time.Minute, healthy(), "True/Recovering", recovery},
			{recovery, healthy(), "False/AsExpected", 0},
		},
		"a failure after a recovery is held again": {
			{0, crashing, "True/CrashLoop", 0},
			{0, healthy(), "True/Recovering", recovery},
			{recovery, healthy(), "False/AsExpected", 0},
			{time.Second, missingReplica, "False/WithinTolerance", hold},
		},
	}
}

// checkSteps computes the steps of one object.
func checkSteps(t *testing.T, steps []step) {
	t.Helper()
	h := newHistory(t)
	for i, s := range steps {
		r := h.compute(s.after, s.o)
		if got := statusAndReason(t, r, conditions.TypeDegraded); got != s.want {
			t.Errorf("step %d: Degraded is %s, want %s", i, got, s.want)
		}
		var next time.Duration
		if !r.Next.IsZero() {
			next = r.Next.Sub(h.now)
		}
		if next != s.next {
			t.Errorf("step %d: next computation in %s, want %s", i, next, s.next)
		}
	}
}

func TestHoldDownContinuesWhileStale(t *testing.T) {
	h := newHistory(t)
	stale := func(in *conditions.Input) { in.Freshness = conditions.ObserverStale }
	h.compute(0, healthy())
	h.compute(0, missingReplica)
	compare(t, statuses{Degraded: "Unknown/ObserverStale"}, h.compute(time.Minute, missingReplica, stale))
	compare(t, statuses{Degraded: "True/InsufficientReplicas"}, h.compute(time.Minute, missingReplica))
	compare(t, statuses{Degraded: "Unknown/ObserverStale"}, h.compute(time.Minute, missingReplica, stale))
	compare(t, statuses{Degraded: "True/Recovering"}, h.compute(time.Second, healthy()))
}

func TestHoldDownRestartsAfterClockReset(t *testing.T) {
	h := newHistory(t)
	h.compute(0, healthy())
	h.compute(time.Hour, missingReplica)
	r := h.compute(-30*time.Minute, missingReplica)
	if got := r.Next.Sub(h.now); got != conditions.MissingReplicasHold {
		t.Errorf("next computation in %s, want %s", got, conditions.MissingReplicasHold)
	}
	compare(t, statuses{Degraded: "True/InsufficientReplicas"}, h.compute(conditions.MissingReplicasHold, missingReplica))
}

func TestHoldDownIgnoresClockResetBetweenFailures(t *testing.T) {
	h := newHistory(t)
	h.compute(0, healthy())
	h.compute(time.Hour, missingReplica)
	h.compute(time.Minute, healthy())
	r := h.compute(-30*time.Minute, missingReplica)
	compare(t, statuses{Degraded: "False/WithinTolerance"}, r)
	if got := r.Next.Sub(h.now); got != time.Minute {
		t.Errorf("next computation in %s, want the remaining minute", got)
	}
}

// A writer that has lost its State, or replaces another writer, continues from the
// conditions of the object.
func TestLostStateIsLoadedFromObject(t *testing.T) {
	dropState := func(in *conditions.Input) { in.Memory = conditions.State{} }
	t.Run("a degraded object stays degraded until it has recovered", func(t *testing.T) {
		h := newHistory(t)
		h.compute(0, crashing)
		compare(t, statuses{Degraded: "True/Recovering"}, h.compute(time.Minute, healthy(), dropState))
		compare(t, statuses{Degraded: "False/AsExpected"}, h.compute(conditions.RecoveryHold, healthy()))
	})
	t.Run("an object that was rolled out is not rolling out", func(t *testing.T) {
		h := newHistory(t)
		h.compute(0, healthy())
		r := h.compute(time.Minute, missingReplica, dropState)
		compare(t, statuses{Progressing: "True/ReplicasMissing", Degraded: "False/WithinTolerance"}, r)
		r = h.compute(time.Minute, missingReplica, dropState)
		compare(t, statuses{Progressing: "True/ReplicasMissing", Degraded: "False/WithinTolerance"}, r)
	})
	t.Run("another object of the same name starts without state", func(t *testing.T) {
		h := newHistory(t)
		h.compute(0, crashing)
		h.conditions = nil
		other := healthy(func(o *contract.Observation) { o.Object.UID = "uid-2" })
		compare(t, statuses{Degraded: "False/AsExpected"}, h.compute(time.Second, other))
	})
}

func TestComputeDistinguishesRolloutFromLoss(t *testing.T) {
	next := func(change ...func(*contract.Unit)) *contract.Observation {
		return healthy(units(unit("web", change...)), func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 3, 3 })
	}
	generation3 := func(in *conditions.Input) { in.Generation = 3 }
	replacing := func(u *contract.Unit) { u.Current, u.Updated = 3, 1 }
	tests := map[string]struct {
		observations []*contract.Observation // the last one is judged
		want         statuses
	}{
		"a first rollout":                       {[]*contract.Observation{next(available(0))}, statuses{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"a new spec, pods not available yet":    {[]*contract.Observation{healthy(), next(available(0))}, statuses{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"a loss after the rollout":              {[]*contract.Observation{next(), next(available(1))}, statuses{Progressing: "True/ReplicasMissing", Degraded: "False/WithinTolerance"}},
		"a rollout without a new spec":          {[]*contract.Observation{next(), next(replacing), next(available(1))}, statuses{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"a start after a stop":                  {[]*contract.Observation{next(), withStop(next(zero)), next(available(0))}, statuses{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"components come back after a task":     {[]*contract.Observation{next(), withJob(next(available(0)), contract.JobRunning), withJob(next(available(0)), contract.JobComplete)}, statuses{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"a pod on a lost node is not a rollout": {[]*contract.Observation{next(), next(available(1), func(u *contract.Unit) { u.Current, u.Updated = 1, 1 })}, statuses{Progressing: "True/ReplicasMissing", Degraded: "False/WithinTolerance"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			var r conditions.Result
			for _, o := range tc.observations {
				r = h.compute(time.Second, o, generation3)
			}
			compare(t, tc.want, r)
		})
	}
}

func withStop(o *contract.Observation) *contract.Observation { stopping(o); return o }

func withJob(o *contract.Observation, state contract.JobState) *contract.Observation {
	job(state)(o)
	return o
}

func TestLastTransitionTimeFollowsStatusOnly(t *testing.T) {
	h := newHistory(t)
	at := func(r conditions.Result) time.Time {
		return conditionOf(t, r, conditions.TypeAvailable).LastTransitionTime.UTC()
	}
	first := at(h.compute(0, healthy()))
	if !first.Equal(start) {
		t.Errorf("first transition at %s, want %s", first, start)
	}
	if got := at(h.compute(time.Minute, healthy(units(unit("web", zero))))); !got.Equal(first) {
		t.Errorf("another reason moved the transition time to %s", got)
	}
	if got := at(h.compute(time.Minute, missingReplica)); !got.Equal(start.Add(2 * time.Minute)) {
		t.Errorf("the flip is at %s, want two minutes after the start", got)
	}
}

func TestForeignConditionsAreIgnored(t *testing.T) {
	in := fresh(healthy())
	in.Previous = []metav1.Condition{{Type: "LifecycleComplete", Status: metav1.ConditionFalse}}
	if got := len(conditions.Compute(in).Conditions); got != 7 {
		t.Errorf("%d conditions, want 7", got)
	}
	in.WithReady = false
	if got := len(conditions.Compute(in).Conditions); got != 6 {
		t.Errorf("%d conditions without Ready, want 6", got)
	}
}

// Held returns the status of Degraded without damping, the start and the end of the
// hold-down.
func TestHeldReturnsRawStatus(t *testing.T) {
	h := newHistory(t)
	want := func(r conditions.Result, want *conditions.Held) {
		t.Helper()
		if diff := cmp.Diff(want, r.Held()); diff != "" {
			t.Errorf("held (-want +got):\n%s", diff)
		}
	}
	want(h.compute(0, healthy()), nil)
	r := h.compute(time.Minute, missingReplica)
	onset := h.now
	missing := &conditions.Held{Status: metav1.ConditionTrue, Since: onset, Until: onset.Add(conditions.MissingReplicasHold)}
	want(r, missing)
	want(h.compute(time.Minute, missingReplica), missing)
	want(h.compute(time.Minute, missingReplica), nil) // published
	r = h.compute(time.Minute, healthy())
	want(r, &conditions.Held{Status: metav1.ConditionFalse, Since: h.now, Until: h.now.Add(conditions.RecoveryHold)})
	for range conditions.FlapCount {
		h.compute(time.Second, missingReplica)
		r = h.compute(time.Second, healthy())
	}
	compare(t, statuses{Degraded: "True/Flapping"}, r)
	want(r, &conditions.Held{Status: metav1.ConditionFalse, Since: h.now, Until: h.now.Add(conditions.FlapWindow)})
	want(h.compute(time.Second, missingReplica), nil) // the reason changes, not the status
}
