package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/statusevents"
)

// A pause repairs nothing, and the time of a pause is not a failure of the rollout.
func TestPauseKeepsFailures(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: reason + ".", LastTransitionTime: metav1.NewTime(now)}
	}
	instance := condition(v1alpha1.ConditionInstanceReady, metav1.ConditionTrue, v1alpha1.ReasonInstanceReady)
	for name, tc := range map[string]struct {
		status v1alpha1.FireboltEngineStatus
		kind   string
		want   metav1.Condition
	}{
		"failing drain check": {
			v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseDraining, CurrentGeneration: 1, ActiveGeneration: 1, DrainingGeneration: new(int64(0))},
			v1alpha1.ConditionReady, condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDrainCheckFailing),
		},
		"overdue rollout": {
			v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseCreating, CurrentGeneration: 1, RolloutStartedAt: new(metav1.NewTime(now.Add(-time.Hour)))},
			v1alpha1.ConditionRolloutOverdue, condition(v1alpha1.ConditionRolloutOverdue, metav1.ConditionTrue, v1alpha1.ReasonProgressDeadlineExceeded),
		},
		"rollout whose deadline ends during the pause": {
			v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseCreating, CurrentGeneration: 1, RolloutStartedAt: new(metav1.NewTime(now.Add(-time.Hour)))},
			v1alpha1.ConditionRolloutOverdue, condition(v1alpha1.ConditionRolloutOverdue, metav1.ConditionFalse, v1alpha1.ReasonOnTime),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Config{Clock: clocktesting.NewFakePassiveClock(now)})
			before := engineWithUID("a")
			before.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandPaused}
			before.Spec.ProgressDeadline = &metav1.Duration{Duration: time.Minute}
			before.Status = tc.status
			before.Status.Conditions = []metav1.Condition{instance, tc.want}
			s := &reconcileState{engine: before.DeepCopy()}
			s.start()
			if _, err := r.checkDrain(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if _, err := r.decide(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			s.engine.Status = s.outcome().Next(now)
			got := meta.FindStatusCondition(s.engine.Status.Conditions, tc.kind)
			if got == nil || got.Status != tc.want.Status || got.Reason != tc.want.Reason || (tc.kind == v1alpha1.ConditionReady && got.Message != tc.want.Message) {
				t.Errorf("condition = %+v, want %+v", got, tc.want)
			}
			if diff := cmp.Diff([]statusevents.Event(nil), statusevents.Engine(before, s.engine)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// The recorded slot of a paused engine is free once the status shows its rollout, and a throttled engine no longer waits.
func TestPausedEngineNeedsNoSlot(t *testing.T) {
	cache := &stubCache{}
	r := New(Config{Client: cache, Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)), MaxRollouts: 1})
	acquire := func(uid types.UID) bool {
		t.Helper()
		acquired, _, err := r.limiter.Acquire(t.Context(), engineWithUID(uid), 1)
		if err != nil {
			t.Fatal(err)
		}
		return acquired
	}
	if !acquire("a") || acquire("b") {
		t.Fatal("the only slot is not taken")
	}
	a := engineWithUID("a")
	a.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandPaused}
	a.Status = v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseCreating, CurrentGeneration: 1, LastAllocatedGeneration: new(int64(1))}
	pause := func(e *v1alpha1.FireboltEngine) {
		t.Helper()
		if _, err := r.decide(t.Context(), &reconcileState{engine: e}); err != nil {
			t.Fatal(err)
		}
	}
	pause(a)
	if !acquire("b") {
		t.Error("the slot is not free")
	}
	if acquire("c") || r.limiter.Waiting() != 1 {
		t.Fatalf("%d engines wait, want 1", r.limiter.Waiting())
	}
	c := engineWithUID("c")
	c.Annotations = a.Annotations
	pause(c)
	if n := r.limiter.Waiting(); n != 0 {
		t.Errorf("%d engines wait, although the only one is paused", n)
	}
}
