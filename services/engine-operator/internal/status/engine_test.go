package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func stable() Engine {
	return Engine{
		Object: &v1alpha1.FireboltEngine{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 4},
			Spec:       v1alpha1.FireboltEngineSpec{InstanceRef: "shop", Replicas: 2},
			Status:     v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable},
		},
		Plan:            engine.Plan{Next: engine.State{Phase: v1alpha1.PhaseStable, Draining: engine.None}},
		InstanceChecked: true, Decided: true, PodsReady: 2, PodsTotal: 2, Replicas: 2,
	}
}

// The order of precedence of specification 001, "Top-level Ready condition".
func TestReadyHasHighestPrecedenceReason(t *testing.T) {
	stopped := func(p *Engine) {
		p.Plan.Next.Phase, p.Object.Spec.Replicas = v1alpha1.PhaseStopped, 0
		p.PodsReady, p.PodsTotal, p.Replicas = 0, 0, 0
	}
	cases := map[string]struct {
		change func(*Engine)
		reason string
	}{
		"ready":                                            {func(*Engine) {}, "EngineReady"},
		"an engine that was never reconciled":              {func(p *Engine) { p.Object.Status.Phase, p.Plan.Next.Phase = "", "" }, "Initializing"},
		"no instance wins over stopped":                    {func(p *Engine) { stopped(p); p.InstanceError = "gone" }, "InstanceNotReady"},
		"no instance wins over missing pods":               {func(p *Engine) { p.PodsReady = 0; p.InstanceError = "gone" }, "InstanceNotReady"},
		"an instance that was never observed":              {func(p *Engine) { p.InstanceChecked = false }, "InstanceNotReady"},
		"a missing class":                                  {func(p *Engine) { p.Class = "gone" }, "FireboltEngineClassUnready"},
		"an unsupported feature":                           {func(p *Engine) { p.Unsupported = "spec.autoStop.enabled" }, "NotSupported"},
		"stopped by replicas":                              {stopped, "Stopped"},
		"stopped by command":                               {func(p *Engine) { stopped(p); p.Object.Spec.Replicas = 2 }, "Stopped"},
		"a failed drain check wins over rolling":           {func(p *Engine) { p.Plan.Next.Phase = v1alpha1.PhaseDraining; p.DrainError = "x" }, "DrainCheckFailing"},
		"a rollout":                                        {func(p *Engine) { p.Plan.Next.Phase = v1alpha1.PhaseCreating; p.PodsReady = 0 }, "Rolling"},
		"a missing pod":                                    {func(p *Engine) { p.PodsReady = 1 }, "PodsNotReady"},
		"a started engine whose stopped generation serves": {func(p *Engine) { p.PodsReady, p.PodsTotal, p.Replicas = 0, 0, 0 }, "PodsNotReady"},
		"no Service for ready pods":                        {func(p *Engine) { p.Unrouted, p.Warning = true, Warning{Reason: "ApplyRefused", Terminal: true} }, "ApplyRefused"},
		"a Service that is created again":                  {func(p *Engine) { p.Unrouted = true }, "EngineReady"},
		"a warning about another object":                   {func(p *Engine) { p.Warning.Reason = "ApplyRefused" }, "EngineReady"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := stable()
			tc.change(&p)
			out := p.Next(now)
			c := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionReady)
			if c == nil || c.Reason != tc.reason || (c.Status == metav1.ConditionTrue) != (tc.reason == "EngineReady") {
				t.Fatalf("Ready = %+v, want reason %s", c, tc.reason)
			}
			if c.ObservedGeneration != 4 {
				t.Errorf("observedGeneration = %d", c.ObservedGeneration)
			}
		})
	}
}

func TestRollingNamesBlockingGeneration(t *testing.T) {
	p := stable()
	p.Plan.Next.Phase, p.Plan.Next.Current, p.Plan.BlockedBy = v1alpha1.PhaseCreating, 2, []int64{1}
	c := condition(t, p.Next(now), v1alpha1.ConditionReady)
	if want := "The engine is in phase creating. Generation 2 waits until generation 1 is deleted."; c.Message != want {
		t.Errorf("Ready has message %q, want %q", c.Message, want)
	}
}

func TestSecondReconcileKeepsStatus(t *testing.T) {
	p := stable()
	p.Plan.Settled, p.Image = true, "engine:1"
	first := p.Next(now)
	p.Object.Status = first
	second := p.Next(now.Add(time.Hour))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("status changed without a reason:\n%s", diff)
	}
}

func TestForeignConditionsAreKept(t *testing.T) {
	p := stable()
	p.Object.Status.Conditions = []metav1.Condition{{Type: "Available", Status: metav1.ConditionTrue}}
	for _, c := range p.Next(now).Conditions {
		if c.Type == "Available" {
			t.Errorf("%+v would be applied by us", c)
		}
	}
}

func TestTransitionTimeFollowsConditionStatus(t *testing.T) {
	p := stable()
	p.Object.Status = p.Next(now)
	p.PodsReady = 1
	p.Object.Status = p.Next(now.Add(time.Minute))
	p.PodsReady = 0
	out := p.Next(now.Add(time.Hour))
	c := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionReady)
	if !c.LastTransitionTime.Time.Equal(now.Add(time.Minute)) {
		t.Errorf("lastTransitionTime = %v", c.LastTransitionTime)
	}
}

func TestUndecidedReconcileKeepsObservedGeneration(t *testing.T) {
	p := stable()
	p.Decided, p.Object.Status.ObservedGeneration = false, 3
	out := p.Next(now)
	if c := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionReady); c.ObservedGeneration != 3 {
		t.Errorf("observedGeneration = %d", c.ObservedGeneration)
	}
}

func TestPhaseChangeAddsOneTransition(t *testing.T) {
	p := stable()
	p.Plan.Next.Phase, p.Plan.Next.Current = v1alpha1.PhaseCreating, 1
	p.Plan.Reason, p.Plan.Message = "SpecChanged", "Generation 0 differs from the spec."
	out := p.Next(now)
	if n := len(out.Transitions); n != 1 || out.Transitions[0].To != "creating" || out.Transitions[0].Reason != "SpecChanged" {
		t.Fatalf("transitions = %+v", out.Transitions)
	}
	if out.ObservedGeneration != 0 {
		t.Error("a rollout in flight claims the generation")
	}
}

func TestReplicasFollowOperatorCommand(t *testing.T) {
	p := stable()
	for value, want := range map[string]int32{"": 2, "Stopped": 0, "Paused": 2, "stopped": 2} {
		p.Object.Annotations = map[string]string{v1alpha1.AnnotationCommand: value}
		if got := Replicas(p.Object); got != want {
			t.Errorf("Replicas with command %q = %d, want %d", value, got, want)
		}
	}
}
