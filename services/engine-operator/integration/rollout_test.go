package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// unschedulable returns a template whose pods fit no node: its generation never becomes ready.
func unschedulable(image string) *corev1.PodTemplateSpec {
	t := template(image)
	t.Spec.NodeSelector = map[string]string{"no": "such-node"}
	return t
}

// appears waits until an object of that name exists.
func appears[T client.Object](s *testEnv, o T, name string) T {
	s.t.Helper()
	o.SetName(name)
	o.SetNamespace(s.namespace)
	expect.Object(s.t, s.api, o, func(T) error { return nil })
	return o
}

func TestRapidEditsDuringRolloutConverge(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 2)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	served := s.watchRoute(e)
	setHistory := s.record(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	for i := range 7 {
		s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template(fmt.Sprintf("example.com/engine:%d", i)) })
	}
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		if e.Status.Phase != v1alpha1.PhaseStable || e.Status.DeployedVersion != "example.com/engine:6" || e.Status.ObservedGeneration != e.Generation {
			return fmt.Errorf("phase %s, version %s", e.Status.Phase, e.Status.DeployedVersion)
		}
		return nil
	})
	excess := setHistory.problems(func(m snapshot) string {
		existing := 0
		for _, set := range of[appsv1.StatefulSet](m, "StatefulSet") {
			if set.DeletionTimestamp == nil {
				existing++
			}
		}
		if existing > 2 {
			return fmt.Sprintf("%d generations stand", existing)
		}
		return ""
	})
	if problems := slices.Concat(served(), excess); len(problems) > 0 {
		t.Errorf("while rolling: %s", strings.Join(problems, "; "))
	}
	n := e.Status.ActiveGeneration
	if e.Status.LastAllocatedGeneration == nil || *e.Status.LastAllocatedGeneration != n {
		t.Errorf("g%d serves, the last number is %v", n, e.Status.LastAllocatedGeneration)
	}
	genName := fmt.Sprintf("a-g%d", n)
	s.checkChildren(e, genName, genName+"-config", genName+"-hl", "a-service")
}

// checkChildren waits until the engine has exactly these objects.
func (s *testEnv) checkChildren(e *v1alpha1.FireboltEngine, want ...string) {
	s.t.Helper()
	expect.Eventually(s.t, expect.Long, func() error {
		if diff := cmp.Diff(want, s.children(e)); diff != "" {
			return fmt.Errorf("children (-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestScalingToZeroAndBackDuringRollout(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 2)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Replicas = 0 })
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Replicas = 2 })
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		if e.Status.Phase != v1alpha1.PhaseStable || e.Status.ObservedGeneration != e.Generation || e.Status.ReadyReplicas != 2 {
			return fmt.Errorf("phase %s, observed %d of %d, %d ready", e.Status.Phase, e.Status.ObservedGeneration, e.Generation, e.Status.ReadyReplicas)
		}
		return nil
	})
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	genName := fmt.Sprintf("a-g%d", e.Status.ActiveGeneration)
	s.checkChildren(e, genName, genName+"-config", genName+"-hl", "a-service")
}

// A class edit rolls its engines, at most as many at a time as the limit, and
// an engine with a change of its own spec never waits.
func TestClassEditLimitsConcurrentRollouts(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.stopAndWait()
	s.settings.MaxRollouts = 1
	s.run()
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "large"}}
	class.Spec.Template = *template("example.com/class:1.0")
	s.create(class)
	engines := []*v1alpha1.FireboltEngine{engineOf("a", 1), engineOf("b", 1), engineOf("c", 1)}
	for _, e := range engines {
		e.Spec.EngineClassRef = new("large")
		s.create(e)
	}
	for _, e := range engines {
		s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	}
	rolled := s.record(v1alpha1.GroupVersion.WithKind("FireboltEngine"))
	s.editClass(class, func(c *v1alpha1.FireboltEngineClass) { c.Spec.Template = *template("example.com/class:2.0") })
	for _, e := range engines {
		s.waitForRollout(e, v1alpha1.PhaseStable, 1)
		if e.Status.DeployedVersion != "example.com/class:2.0" {
			t.Errorf("engine %s runs %s", e.Name, e.Status.DeployedVersion)
		}
	}
	excess := rolled.problems(func(m snapshot) string {
		var busy []string
		for _, e := range of[v1alpha1.FireboltEngine](m, "FireboltEngine") {
			if e.Status.Phase != v1alpha1.PhaseStable {
				busy = append(busy, e.Name)
			}
		}
		if len(busy) > 1 {
			return fmt.Sprintf("%v roll at the same time", busy)
		}
		return ""
	})
	if len(excess) > 0 {
		t.Error(strings.Join(excess, "; "))
	}
}

// A rollout without a change of the engine's own spec is throttled while another one cannot end, and the engine is repaired
// meanwhile; one with such a change is not throttled.
func TestThrottlingExemptsOwnSpecChange(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.stopAndWait()
	s.settings.MaxRollouts = 1
	s.run()
	class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "large"}}
	class.Spec.Template = *template("example.com/class:1.0")
	s.create(class)
	stuckEngine, throttledEngine := engineOf("stuck", 1), engineOf("held", 1)
	throttledEngine.Spec.EngineClassRef = new("large")
	for _, e := range []*v1alpha1.FireboltEngine{stuckEngine, throttledEngine} {
		s.create(e)
		s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	}
	s.edit(stuckEngine, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = unschedulable("example.com/engine:2.0") })
	appears(s, &appsv1.StatefulSet{}, "stuck-g1")
	s.editClass(class, func(c *v1alpha1.FireboltEngineClass) { c.Spec.Template = *template("example.com/class:2.0") })
	expect.Object(t, s.api, throttledEngine, func(e *v1alpha1.FireboltEngine) error {
		for _, c := range e.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue && strings.Contains(c.Message, "waits for other rollouts") {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", e.Status.Conditions)
	})
	expect.Object(t, s.api, throttledEngine, func(e *v1alpha1.FireboltEngine) error {
		c := meta.FindStatusCondition(e.Status.Conditions, "Progressing")
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != "RolloutThrottled" || !strings.Contains(c.Message, "waits for a rollout slot") {
			return fmt.Errorf("Progressing = %+v", c)
		}
		return nil
	})
	expect.Never(t, short, func() error {
		if got := s.children(throttledEngine); slices.Contains(got, "held-g1") {
			return fmt.Errorf("the engine did not wait: %v", got)
		}
		return nil
	})
	s.remove(appears(s, &corev1.Service{}, "held-service"))
	appears(s, &corev1.Service{}, "held-service")
	// Its own edit does not wait.
	s.edit(throttledEngine, func(e *v1alpha1.FireboltEngine) { e.Spec.Replicas = 2 })
	s.waitForRollout(throttledEngine, v1alpha1.PhaseStable, 1)
}

// Defect 6: reverting a bad spec returns to the generation that still serves.
func TestDefect6RevertedSpecReturnsToServingGeneration(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Spec.Template = template("example.com/engine:1.0")
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = unschedulable("example.com/engine:2.0") })
	appears(s, &appsv1.StatefulSet{}, "a-g1")
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:1.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.checkChildren(e, "a-g0", "a-g0-config", "a-g0-hl", "a-service")
	if got := ptr.Deref(e.Status.LastAllocatedGeneration, -1); got != 1 {
		t.Errorf("the last number is %d, want 1", got)
	}
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:3.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 2) // 1 is never used again
}

// Defect 7: a generation that does not become ready is reported after its deadline, and abandoned
// if the user enabled the rollback.
func TestDefect7OverdueRolloutIsReportedAndRolledBack(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Spec.ProgressDeadline = &metav1.Duration{Duration: 2 * time.Second}
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = unschedulable("example.com/engine:2.0") })
	if c := expect.Condition(t, s.api, e, v1alpha1.ConditionRolloutOverdue, metav1.ConditionTrue); c.Reason != v1alpha1.ReasonProgressDeadlineExceeded {
		t.Errorf("RolloutOverdue: %s", c.Reason)
	}
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.AutomaticRollback = new(true) })
	expect.Condition(t, s.api, e, v1alpha1.ConditionRolledBack, metav1.ConditionTrue)
	s.checkChildren(e, "a-g0", "a-g0-config", "a-g0-hl", "a-service")
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
	expect.Condition(t, s.api, e, v1alpha1.ConditionRolloutOverdue, metav1.ConditionFalse)
	if e.Status.ObservedGeneration == e.Generation || e.Status.Phase != v1alpha1.PhaseStable {
		t.Errorf("phase %s, observed %d of %d: a rollback must not claim the new spec", e.Status.Phase, e.Status.ObservedGeneration, e.Generation)
	}
	// The rejection survives a restart of the operator.
	s.stopAndWait()
	s.run()
	expect.Never(t, 2*short, func() error {
		if got := s.children(e); len(got) != 4 {
			return fmt.Errorf("tried again: %v", got)
		}
		return nil
	})
	s.edit(e, func(e *v1alpha1.FireboltEngine) {
		e.Spec.Template, e.Spec.ProgressDeadline = template("example.com/engine:3.0"), nil
	})
	s.waitForRollout(e, v1alpha1.PhaseStable, 2)
	expect.Condition(t, s.api, e, v1alpha1.ConditionRolledBack, metav1.ConditionFalse)
}

func TestManuallyEditedStatefulSetIsReplaced(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	for n, change := range []func(*appsv1.StatefulSet){
		func(set *appsv1.StatefulSet) { set.Spec.Replicas = new(int32(3)) },
		func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.Containers[0].Args = []string{"true"} },
		func(set *appsv1.StatefulSet) { set.Spec.Template.Labels["by"] = "hand" },
	} {
		set := appears(s, &appsv1.StatefulSet{}, fmt.Sprintf("a-g%d", n))
		before := set.DeepCopy() // without the version: its status changes concurrently
		change(set)
		if err := s.api.Patch(t.Context(), set, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		s.waitForRollout(e, v1alpha1.PhaseStable, int64(n+1))
	}
}
