package engine

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/engine/throttle"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

func TestElapsedFollowsDrainTimeout(t *testing.T) {
	switched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		timeout, elapsed time.Duration
		isExpired        bool
		remaining        time.Duration
	}{
		"no timeout never ends":     {0, 1000 * time.Hour, false, 0},
		"a negative one neither":    {-time.Hour, 1000 * time.Hour, false, 0},
		"the rest of it is waited":  {time.Hour, 50 * time.Minute, false, 10 * time.Minute},
		"it ends on the moment":     {time.Hour, time.Hour, true, 0},
		"and stays so":              {time.Hour, 2 * time.Hour, true, 0},
		"a clock that lags behind":  {time.Hour, -time.Minute, false, 61 * time.Minute},
		"a moment before is not it": {time.Hour, time.Hour - 1, false, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			isExpired, remaining := elapsed(switched, tc.timeout, switched.Add(tc.elapsed))
			if isExpired != tc.isExpired || remaining != tc.remaining {
				t.Errorf("elapsed = %t, %s; want %t, %s", isExpired, remaining, tc.isExpired, tc.remaining)
			}
		})
	}
}

func TestSwitchedAtUsesLatestDrainingTransition(t *testing.T) {
	at := func(hour int, to v1alpha1.EnginePhase) transition.Entry {
		return transition.Entry{Time: metav1.NewTime(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)), To: string(to)}
	}
	entries := []transition.Entry{at(1, v1alpha1.PhaseDraining), at(2, v1alpha1.PhaseStable), at(3, v1alpha1.PhaseDraining), at(4, v1alpha1.PhaseCleaning)}
	if got, want := switchedAt(entries), time.Date(2026, 1, 1, 3, 0, 1, 0, time.UTC); !got.Equal(want) {
		t.Errorf("switched at %s, want %s", got, want)
	}
	if got := switchedAt(entries[1:2]); !got.IsZero() {
		t.Errorf("switched at %s, although it is not recorded", got)
	}
}

// A StatefulSet that could only be created late has its whole deadline before it is rolled back.
func TestRollbackWaitsForDeadlineOfStatefulSet(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	created := func(ago time.Duration) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-ago))}}
	}
	cases := map[string]struct {
		started   time.Duration
		set       *appsv1.StatefulSet
		edited    bool
		overdue   bool
		rollback  bool
		remaining time.Duration
	}{
		"within the deadline":              {time.Minute, created(time.Minute), false, false, false, 9 * time.Minute},
		"edited, each time":                {started: time.Hour, set: created(time.Second), edited: true, overdue: true, rollback: true},
		"created in time":                  {10 * time.Minute, created(10 * time.Minute), false, true, true, 0},
		"created a little later":           {10 * time.Minute, created(599 * time.Second), false, true, false, time.Second},
		"created after the deadline":       {time.Hour, created(time.Second), false, true, false, 599 * time.Second},
		"created after it, and also late":  {time.Hour, created(11 * time.Minute), false, true, true, 0},
		"not created yet":                  {time.Hour, nil, false, true, false, 0},
		"not created yet, and not overdue": {time.Minute, nil, false, false, false, 9 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(now)
			r := &Reconciler{Config: Config{Clock: clock}, limiter: throttle.New(0, nil, clock)}
			s := &reconcileState{engine: &v1alpha1.FireboltEngine{
				Spec: v1alpha1.FireboltEngineSpec{AutomaticRollback: new(true), ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}},
				Status: v1alpha1.FireboltEngineStatus{
					Phase: v1alpha1.PhaseCreating, CurrentGeneration: 1, RolloutStartedAt: new(metav1.NewTime(now.Add(-tc.started))),
				},
			}}
			s.start()
			if tc.set != nil {
				s.children = observe.Children{StatefulSets: map[int64]*appsv1.StatefulSet{1: tc.set}}
			}
			if tc.edited {
				s.snapshot.Generations = map[int64]engine.Generation{1: {StatefulSet: engine.Present, Match: engine.Differs, Rendered: true}}
			}
			in, remaining := r.input(s)
			if in.Overdue != tc.overdue || (in.Overdue && in.Rollback) != tc.rollback || remaining != tc.remaining {
				t.Errorf("overdue %t, rollback %t, remaining %s", in.Overdue, in.Rollback, remaining)
			}
		})
	}
}

// The conditions of an engine are published while it waits for the next drain check, however short its interval is.
func TestWaitForDrainCheckIsPublished(t *testing.T) {
	for _, interval := range []time.Duration{time.Millisecond, time.Second, 5 * time.Second} {
		e := &v1alpha1.FireboltEngine{}
		e.Spec.DrainCheckInterval = &metav1.Duration{Duration: interval}
		s := &reconcileState{decided: true, plan: engine.Plan{
			Next: engine.State{Phase: v1alpha1.PhaseDraining}, Requeue: resolve.DrainOf(e, nil).Interval,
		}}
		if s.isTransitional() {
			t.Errorf("with an interval of %s nothing is published", interval)
		}
	}
}
