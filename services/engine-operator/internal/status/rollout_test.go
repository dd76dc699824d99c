package status

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
)

func condition(t *testing.T, s v1alpha1.FireboltEngineStatus, kind string) metav1.Condition {
	t.Helper()
	c := meta.FindStatusCondition(s.Conditions, kind)
	if c == nil {
		t.Fatalf("no condition %s", kind)
	}
	return *c
}

func TestOverdueRolloutIsReported(t *testing.T) {
	draining := func(p *Engine) {
		p.Plan.Next = engine.State{Phase: v1alpha1.PhaseDraining, Current: 1, Active: 1, Draining: 0, Allocated: 1}
	}
	cases := map[string]struct {
		change func(*Engine)
		status metav1.ConditionStatus
		reason string
	}{
		"a settled engine": {func(*Engine) {}, metav1.ConditionFalse, "OnTime"},
		"a generation that is not ready in time": {func(p *Engine) {
			p.Plan.Next.Phase, p.Overdue = v1alpha1.PhaseCreating, true
		}, metav1.ConditionTrue, "ProgressDeadlineExceeded"},
		"an overdue generation that became ready after all": {func(p *Engine) {
			p.Plan.Next.Phase, p.Overdue = v1alpha1.PhaseSwitching, true
		}, metav1.ConditionFalse, "OnTime"},
		"a drain beyond its time": {func(p *Engine) { draining(p); p.Expired = true }, metav1.ConditionTrue, "DrainTimeoutExceeded"},
		"a drain within its time": {draining, metav1.ConditionFalse, "OnTime"},
		"the cleaning that follows an expired drain": {func(p *Engine) {
			draining(p)
			p.Plan.Next.Phase = v1alpha1.PhaseCleaning
			p.Object.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionRolloutOverdue, Status: metav1.ConditionTrue, Reason: "DrainTimeoutExceeded",
			}}
		}, metav1.ConditionTrue, "DrainTimeoutExceeded"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := stable()
			tc.change(&p)
			if c := condition(t, p.Next(now), v1alpha1.ConditionRolloutOverdue); c.Status != tc.status || c.Reason != tc.reason {
				t.Fatalf("RolloutOverdue is %s/%s, want %s/%s", c.Status, c.Reason, tc.status, tc.reason)
			}
		})
	}
}

func TestCleaningNamesStuckPodAndNode(t *testing.T) {
	stuck := func(name string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	}
	p := stable()
	p.Plan.Next = engine.State{Phase: v1alpha1.PhaseCleaning, Current: 1, Active: 1, Draining: 0, Allocated: 1}
	for want, pods := range map[string][]corev1.Pod{
		"The engine is in phase cleaning.": nil,
		`The engine is in phase cleaning. Pod "shop-g0-0" on node "node-1" did not terminate within its grace period. ` +
			"If the node is lost, repair it, or power it off and delete the Node.": {stuck("shop-g0-0")},
		`The engine is in phase cleaning. Pod "shop-g0-0" on node "node-1" (and 1 more) did not terminate within its grace period. ` +
			"If the node is lost, repair it, or power it off and delete the Node.": {stuck("shop-g0-0"), stuck("shop-g0-1")},
	} {
		p.Stuck = pods
		if c := condition(t, p.Next(now), v1alpha1.ConditionReady); c.Reason != v1alpha1.ReasonRolling || c.Message != want {
			t.Errorf("Ready is %s: %q, want %q", c.Reason, c.Message, want)
		}
	}
}

func TestRollbackIsReportedAndServes(t *testing.T) {
	p := stable()
	p.Plan.Next.Rejected, p.Plan.Settled = "abc", false
	out := p.Next(now)
	if out.RejectedRendering != "abc" || out.ObservedGeneration == p.Object.Generation {
		t.Errorf("rejected %q, observed generation %d", out.RejectedRendering, out.ObservedGeneration)
	}
	if c := condition(t, out, v1alpha1.ConditionRolledBack); c.Status != metav1.ConditionTrue || c.Reason != "ProgressDeadlineExceeded" {
		t.Errorf("RolledBack is %s/%s", c.Status, c.Reason)
	}
	if c := condition(t, out, v1alpha1.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %s/%s", c.Status, c.Reason)
	}
}

func TestRolloutEndsInTerminalPhase(t *testing.T) {
	before := metav1.NewTime(now.Add(-time.Hour))
	cases := map[string]struct {
		was  *metav1.Time
		next engine.State
		same bool
		want *metav1.Time
	}{
		"a new number":                             {&before, engine.State{Phase: v1alpha1.PhaseCreating, Current: 1, Allocated: 1}, false, new(metav1.NewTime(now))},
		"a new number of the same rollout":         {&before, engine.State{Phase: v1alpha1.PhaseCreating, Current: 1, Allocated: 1}, true, &before},
		"the same number":                          {&before, engine.State{Phase: v1alpha1.PhaseDraining, Current: 0, Allocated: 0}, false, &before},
		"a terminal phase":                         {&before, engine.State{Phase: v1alpha1.PhaseStable, Current: 0, Allocated: 0}, false, nil},
		"a rollout that an earlier operator began": {nil, engine.State{Phase: v1alpha1.PhaseCreating}, false, new(metav1.NewTime(now))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := stable()
			p.Object.Status.RolloutStartedAt, p.Plan.Next, p.Plan.SameRollout = tc.was, tc.next, tc.same
			if got := p.Next(now).RolloutStartedAt; !got.Equal(tc.want) {
				t.Fatalf("began at %v, want %v", got, tc.want)
			}
		})
	}
}

func TestScaleSelectorMatchesServingPods(t *testing.T) {
	p := stable()
	p.Plan.Next.Active, p.Plan.Next.Current, p.PodsReady = 3, 3, 1
	out := p.Next(now)
	if out.Replicas != 2 || out.ReadyReplicas != 1 || out.Selector != "firebolt.io/engine=shop,firebolt.io/generation=3" {
		t.Fatalf("replicas %d, ready %d, selector %q", out.Replicas, out.ReadyReplicas, out.Selector)
	}
	p.Plan.Next.Active = engine.None
	if got := p.Next(now).Selector; got != "" {
		t.Fatalf("without a serving generation the selector is %q", got)
	}
}

// Admission errors have a lower precedence than errors that make the template irrelevant, and a higher one than the rest.
func TestRejectedSpecIsReported(t *testing.T) {
	p := stable()
	p.Rejected, p.Bounds = "spec.template.spec.hostNetwork: Forbidden", "cpu"
	if c := condition(t, p.Next(now), v1alpha1.ConditionReady); c.Reason != "TemplateRejected" || c.Message != "spec.template.spec.hostNetwork: Forbidden. Correct the engine or its class." {
		t.Errorf("Ready has reason %s: %s", c.Reason, c.Message)
	}
	p.Rejected = ""
	if c := condition(t, p.Next(now), v1alpha1.ConditionReady); c.Reason != "ResourceBoundsExceeded" || c.Message != "cpu. Correct the engine or its class." {
		t.Errorf("Ready has reason %s: %s", c.Reason, c.Message)
	}
	if c := condition(t, p.Next(now), v1alpha1.ConditionReady); c.ObservedGeneration != p.Object.Generation {
		t.Errorf("the rejection has generation %d, want %d", c.ObservedGeneration, p.Object.Generation)
	}
}
