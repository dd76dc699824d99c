package conditions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var (
	lacking  = healthy(units(unit("web", available(1))))
	crashing = healthy(units(unit("web", available(1), failing(contract.FailureCrashLoop, 1))))
	refusing = healthy(units(unit("web", available(1), failing(contract.FailureCreateFailed, 1))))
)

// step is one call of Compute in the history of an object.
type step struct {
	after time.Duration
	o     *contract.Observation
	want  string        // Degraded
	next  time.Duration // from now; 0 means no deadline
}

func TestDegradedFollowsHoldDown(t *testing.T) {
	const hold, recovery = conditions.MissingReplicasHold, conditions.RecoveryHold
	tests := map[string][]step{
		"missing replicas degrade at the deadline and not before": {
			{0, healthy(), "False/AsExpected", 0},
			{time.Minute, lacking, "False/WithinTolerance", hold},
			{hold - time.Nanosecond, lacking, "False/WithinTolerance", time.Nanosecond},
			{time.Nanosecond, lacking, "True/InsufficientReplicas", 0},
		},
		"an interruption shortens the hold-down by half of its length": {
			{0, healthy(), "False/AsExpected", 0},
			{time.Minute, lacking, "False/WithinTolerance", hold},
			{hold / 2, healthy(), "False/AsExpected", 0},
			{20 * time.Second, lacking, "False/WithinTolerance", hold/2 + 10*time.Second},
			{hold / 2, lacking, "False/WithinTolerance", 10 * time.Second},
			{10 * time.Second, lacking, "True/InsufficientReplicas", 0},
		},
		"a long interruption restarts the hold-down": {
			{0, healthy(), "False/AsExpected", 0},
			{time.Minute, lacking, "False/WithinTolerance", hold},
			{hold / 2, healthy(), "False/AsExpected", 0},
			{hold, lacking, "False/WithinTolerance", hold},
		},
		"one held failure follows another": {
			{0, healthy(), "False/AsExpected", 0},
			{0, lacking, "False/WithinTolerance", hold},
			{hold / 2, healthy(func(o *contract.Observation) { o.Reconcile.Outcome = contract.Failed }), "False/WithinTolerance", hold / 2},
			{hold / 2, lacking, "True/InsufficientReplicas", 0},
		},
		"a crash ends a hold-down": {
			{0, healthy(), "False/AsExpected", 0},
			{0, lacking, "False/WithinTolerance", hold},
			{time.Second, crashing, "True/CrashLoop", 0},
		},
		"a pod that cannot be created degrades within seconds": {
			{0, healthy(), "False/AsExpected", 0},
			{0, refusing, "False/WithinTolerance", conditions.CreateFailureHold},
			{conditions.CreateFailureHold, refusing, "True/CreateFailed", 0},
		},
		"it degrades at once when replicas have been missing for longer": {
			{0, healthy(), "False/AsExpected", 0},
			{0, lacking, "False/WithinTolerance", hold},
			{hold / 2, refusing, "True/CreateFailed", 0},
		},
		"recovery is held, and any failure restarts it": {
			{0, crashing, "True/CrashLoop", 0},
			{time.Minute, healthy(), "True/Recovering", recovery},
			{recovery - time.Second, healthy(), "True/Recovering", time.Second},
			{0, lacking, "True/InsufficientReplicas", 0},
			{time.Minute, healthy(), "True/Recovering", recovery},
			{recovery, healthy(), "False/AsExpected", 0},
		},
		"a failure after a recovery is held again": {
			{0, crashing, "True/CrashLoop", 0},
			{0, healthy(), "True/Recovering", recovery},
			{recovery, healthy(), "False/AsExpected", 0},
			{time.Second, lacking, "False/WithinTolerance", hold},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			for i, s := range steps {
				r := h.fold(s.after, s.o)
				if got := one(t, r, conditions.TypeDegraded); got != s.want {
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
		})
	}
}

func TestHoldDownContinuesWhileStale(t *testing.T) {
	h := newHistory(t)
	stale := func(in *conditions.Input) { in.Freshness = conditions.ObserverStale }
	h.fold(0, healthy())
	h.fold(0, lacking)
	compare(t, answers{Degraded: "Unknown/ObserverStale"}, h.fold(time.Minute, lacking, stale))
	compare(t, answers{Degraded: "True/InsufficientReplicas"}, h.fold(time.Minute, lacking))
	compare(t, answers{Degraded: "Unknown/ObserverStale"}, h.fold(time.Minute, lacking, stale))
	compare(t, answers{Degraded: "True/Recovering"}, h.fold(time.Second, healthy()))
}

func TestHoldDownRestartsAfterClockReset(t *testing.T) {
	h := newHistory(t)
	h.fold(0, healthy())
	h.fold(time.Hour, lacking)
	r := h.fold(-30*time.Minute, lacking)
	if got := r.Next.Sub(h.now); got != conditions.MissingReplicasHold {
		t.Errorf("next computation in %s, want %s", got, conditions.MissingReplicasHold)
	}
	compare(t, answers{Degraded: "True/InsufficientReplicas"}, h.fold(conditions.MissingReplicasHold, lacking))
}

func TestHoldDownIgnoresClockResetBetweenFailures(t *testing.T) {
	h := newHistory(t)
	h.fold(0, healthy())
	h.fold(time.Hour, lacking)
	h.fold(time.Minute, healthy())
	r := h.fold(-30*time.Minute, lacking)
	compare(t, answers{Degraded: "False/WithinTolerance"}, r)
	if got := r.Next.Sub(h.now); got != time.Minute {
		t.Errorf("next computation in %s, want the remaining minute", got)
	}
}

// A writer that has lost its State, or replaces another writer, continues from the
// conditions of the object.
func TestLostStateIsLoadedFromObject(t *testing.T) {
	forget := func(in *conditions.Input) { in.Memory = conditions.State{} }
	t.Run("a degraded object stays degraded until it has recovered", func(t *testing.T) {
		h := newHistory(t)
		h.fold(0, crashing)
		compare(t, answers{Degraded: "True/Recovering"}, h.fold(time.Minute, healthy(), forget))
		compare(t, answers{Degraded: "False/AsExpected"}, h.fold(conditions.RecoveryHold, healthy()))
	})
	t.Run("an object that was rolled out is not rolling out", func(t *testing.T) {
		h := newHistory(t)
		h.fold(0, healthy())
		r := h.fold(time.Minute, lacking, forget)
		compare(t, answers{Progressing: "True/ReplicasMissing", Degraded: "False/WithinTolerance"}, r)
		r = h.fold(time.Minute, lacking, forget)
		compare(t, answers{Progressing: "True/ReplicasMissing", Degraded: "False/WithinTolerance"}, r)
	})
	t.Run("another object of the same name starts without state", func(t *testing.T) {
		h := newHistory(t)
		h.fold(0, crashing)
		h.stands = nil
		other := healthy(func(o *contract.Observation) { o.Object.UID = "uid-2" })
		compare(t, answers{Degraded: "False/AsExpected"}, h.fold(time.Second, other))
	})
}

func TestComputeDistinguishesRolloutFromLoss(t *testing.T) {
	next := func(change ...func(*contract.Unit)) *contract.Observation {
		return healthy(units(unit("web", change...)), func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 3, 3 })
	}
	third := func(in *conditions.Input) { in.Generation = 3 }
	replacing := func(u *contract.Unit) { u.Current, u.Updated = 3, 1 }
	tests := map[string]struct {
		life []*contract.Observation // the last one is judged
		want answers
	}{
		"a first rollout":                       {[]*contract.Observation{next(available(0))}, answers{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"a new spec, pods not available yet":    {[]*contract.Observation{healthy(), next(available(0))}, answers{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"a loss after the rollout":              {[]*contract.Observation{next(), next(available(1))}, answers{Progressing: "True/ReplicasMissing", Degraded: "False/WithinTolerance"}},
		"a rollout without a new spec":          {[]*contract.Observation{next(), next(replacing), next(available(1))}, answers{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"a start after a stop":                  {[]*contract.Observation{next(), stoppedNow(next(zero)), next(available(0))}, answers{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"components come back after a task":     {[]*contract.Observation{next(), withJob(next(available(0)), contract.JobRunning), withJob(next(available(0)), contract.JobComplete)}, answers{Progressing: "True/RollingOut", Degraded: "False/AsExpected"}},
		"a pod on a lost node is not a rollout": {[]*contract.Observation{next(), next(available(1), func(u *contract.Unit) { u.Current, u.Updated = 1, 1 })}, answers{Progressing: "True/ReplicasMissing", Degraded: "False/WithinTolerance"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			var r conditions.Result
			for _, o := range tc.life {
				r = h.fold(time.Second, o, third)
			}
			compare(t, tc.want, r)
		})
	}
}

func stoppedNow(o *contract.Observation) *contract.Observation { stopping(o); return o }

func withJob(o *contract.Observation, state contract.JobState) *contract.Observation {
	job(state)(o)
	return o
}

func TestLastTransitionTimeFollowsStatusOnly(t *testing.T) {
	h := newHistory(t)
	at := func(r conditions.Result) time.Time {
		return full(t, r, conditions.TypeAvailable).LastTransitionTime.UTC()
	}
	first := at(h.fold(0, healthy()))
	if !first.Equal(start) {
		t.Errorf("first transition at %s, want %s", first, start)
	}
	if got := at(h.fold(time.Minute, healthy(units(unit("web", zero))))); !got.Equal(first) {
		t.Errorf("another reason moved the transition time to %s", got)
	}
	if got := at(h.fold(time.Minute, lacking)); !got.Equal(start.Add(2 * time.Minute)) {
		t.Errorf("the flip is at %s, want two minutes after the start", got)
	}
}

// kubectl wait trusts a condition whose observedGeneration equals the object's generation.
func TestObservedGenerationFollowsObservation(t *testing.T) {
	tests := map[string]struct {
		seen, applied, now int64
		paused, others     int64
	}{
		"all is applied":         {2, 2, 2, 2, 2},
		"the spec is unread":     {1, 1, 2, 1, 1},
		"the spec is unapplied":  {2, 1, 2, 2, 1},
		"nothing was applied":    {1, 0, 1, 1, 0},
		"a cache lags behind":    {3, 3, 2, 2, 2},
		"a claim beyond reason":  {2, 9, 2, 2, 2},
		"a claim that is absurd": {-1, -1, 2, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, freshness := range []conditions.Freshness{conditions.Fresh, conditions.ObserverStale} {
				in := fresh(healthy(func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = tc.seen, tc.applied }))
				in.Generation, in.Freshness = tc.now, freshness
				for _, c := range conditions.Compute(in).Conditions {
					want := tc.others
					if c.Type == conditions.TypePaused {
						want = tc.paused
					}
					if c.ObservedGeneration != want {
						t.Errorf("%s has observedGeneration %d, want %d", c.Type, c.ObservedGeneration, want)
					}
				}
			}
		})
	}
}

// The conditions of a spec that takes no effect carry its generation, except Available: a
// wait for Degraded or Progressing ends, and a wait for Available does not.
func TestObservedGenerationOfRejectedSpec(t *testing.T) {
	pinned := []string{conditions.TypeProgressing, conditions.TypeDegraded, conditions.TypeUpgradable, conditions.TypePaused}
	older := func(o *contract.Observation) { o.ObservedGeneration = 1 }
	for name, o := range map[string]*contract.Observation{
		"refused":            healthy(refused(conditions.ReasonInvalidSpec)),
		"waiting":            healthy(held(conditions.ReasonAwaitingApproval)),
		"a task failed":      healthy(jobs("migrate", contract.JobFailed, "init", contract.JobPending), older),
		"paused":             healthy(paused, older),
		"refused from birth": healthy(refused(conditions.ReasonInvalidSpec), func(o *contract.Observation) { o.ObservedGeneration = 0 }),
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range conditions.Compute(fresh(o)).Conditions {
				want := o.ObservedGeneration
				if slices.Contains(pinned, c.Type) {
					want = 2
				}
				if c.ObservedGeneration != want {
					t.Errorf("%s has observedGeneration %d, want %d", c.Type, c.ObservedGeneration, want)
				}
			}
		})
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
	want(h.fold(0, healthy()), nil)
	r := h.fold(time.Minute, lacking)
	onset := h.now
	missing := &conditions.Held{Status: metav1.ConditionTrue, Since: onset, Until: onset.Add(conditions.MissingReplicasHold)}
	want(r, missing)
	want(h.fold(time.Minute, lacking), missing)
	want(h.fold(time.Minute, lacking), nil) // published
	r = h.fold(time.Minute, healthy())
	want(r, &conditions.Held{Status: metav1.ConditionFalse, Since: h.now, Until: h.now.Add(conditions.RecoveryHold)})
	for range conditions.FlapCount {
		h.fold(time.Second, lacking)
		r = h.fold(time.Second, healthy())
	}
	compare(t, answers{Degraded: "True/Flapping"}, r)
	want(r, &conditions.Held{Status: metav1.ConditionFalse, Since: h.now, Until: h.now.Add(conditions.FlapWindow)})
	want(h.fold(time.Second, lacking), nil) // the reason changes, not the status
}
