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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

func phases(e *v1alpha1.FireboltEngine) string {
	var out []string
	for _, t := range e.Status.Transitions {
		out = append(out, t.To)
	}
	return strings.Join(out, " ")
}

var six = []string{"Available", "Progressing", "Degraded", "Upgradable", "Paused", "Stopped"}

func TestEngineLifecycle(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 2)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
	for _, c := range six {
		want := metav1.ConditionFalse
		if c == "Available" || c == "Upgradable" {
			want = metav1.ConditionTrue
		}
		expect.Condition(t, s.api, e, c, want)
	}
	if got := phases(e); got != "creating switching stable" {
		t.Errorf("phases = %s", got)
	}
	if e.Status.DeployedVersion != images.Engine {
		t.Errorf("deployedVersion = %q", e.Status.DeployedVersion)
	}
	s.checkWrites(20, "from nothing to stable")

	served := s.watchRoute(e)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	expect.Condition(t, s.api, e, "Progressing", metav1.ConditionFalse)
	if problems := served(); len(problems) > 0 {
		t.Errorf("while rolling: %s", strings.Join(problems, "; "))
	}
	if got := phases(e); got != "creating switching stable creating switching cleaning stable" {
		t.Errorf("phases = %s", got)
	}
	if e.Status.DeployedVersion != "example.com/engine:2.0" {
		t.Errorf("deployedVersion = %q", e.Status.DeployedVersion)
	}
	if diff := cmp.Diff([]string{"a-g1", "a-g1-config", "a-g1-hl", "a-service"}, s.children(e)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	s.checkWrites(20, "to the next generation")
}

// watchRoute records the cluster Service and its pods. The returned function stops recording and
// lists the moments at which the Service was absent or selected no ready pod.
func (s *testEnv) watchRoute(e *v1alpha1.FireboltEngine) func() []string {
	s.t.Helper()
	name := names.Cluster(e.Name) // e changes concurrently
	h := s.record(corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("Pod"))
	return func() []string {
		return h.problems(func(m snapshot) string { return routeProblem(m, name) })
	}
}

func routeProblem(m snapshot, name string) string {
	services := of[corev1.Service](m, "Service")
	i := slices.IndexFunc(services, func(s *corev1.Service) bool { return s.Name == name })
	if i < 0 {
		return "the Service does not exist"
	}
	selector := labels.SelectorFromSet(services[i].Spec.Selector)
	count := 0
	for _, p := range of[corev1.Pod](m, "Pod") {
		if !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		if count++; ready(*p) {
			return ""
		}
	}
	return fmt.Sprintf("the Service selects %v, none of whose %d pods is ready", services[i].Spec.Selector, count)
}

func ready(p corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func TestReconcileSkipsUnchangedObjects(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 2)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	expect.Condition(t, s.api, e, "Progressing", metav1.ConditionFalse)
	expect.Condition(t, s.api, e, "Upgradable", metav1.ConditionTrue)
	s.checkRestartWritesNothing(3 * time.Second)
}

func TestEngineStopsAndStarts(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)

	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Replicas = 0 })
	s.waitForRollout(e, v1alpha1.PhaseStopped, 1)
	if c := expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionFalse); c.Reason != v1alpha1.ReasonStopped {
		t.Errorf("Ready: %s", c.Reason)
	}
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Replicas = 1 })
	s.waitForRollout(e, v1alpha1.PhaseStable, 2)

	s.edit(e, func(e *v1alpha1.FireboltEngine) {
		e.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandStopped}
	})
	expect.Condition(t, s.api, e, "Stopped", metav1.ConditionTrue)
	s.waitForRollout(e, v1alpha1.PhaseStopped, 3)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Annotations = nil })
	s.waitForRollout(e, v1alpha1.PhaseStable, 4)
	expect.Condition(t, s.api, e, "Stopped", metav1.ConditionFalse)
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
}

func TestPausedEngineIsObservedOnly(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.edit(e, func(e *v1alpha1.FireboltEngine) {
		e.Annotations = map[string]string{v1alpha1.AnnotationCommand: v1alpha1.CommandPaused}
	})
	expect.Condition(t, s.api, e, "Paused", metav1.ConditionTrue)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Replicas = 2 })
	expect.Never(t, short, func() error {
		if got := s.children(e); slices.Contains(got, "a-g1") {
			return fmt.Errorf("a paused engine was rolled: %v", got)
		}
		return nil
	})
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Annotations = nil })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	expect.Condition(t, s.api, e, "Paused", metav1.ConditionFalse)
}

func TestDeletedChildrenAreRecreated(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	for _, lost := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a-g0-config"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a-g0-hl"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a-service"}},
	} {
		s.remove(lost)
		lost.SetUID("")
		expect.Object(t, s.api, lost, func(o client.Object) error {
			if o.GetDeletionTimestamp() != nil {
				return fmt.Errorf("still going")
			}
			return nil
		})
	}
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)

	s.remove(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a-g0"}})
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	if diff := cmp.Diff([]string{"a-g1", "a-g1-config", "a-g1-hl", "a-service"}, s.children(e)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
}

func TestDeletedServiceIsRecreatedDuringRollout(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	// A generation that never becomes ready holds the rollout in creating.
	s.edit(e, func(e *v1alpha1.FireboltEngine) {
		e.Spec.Template = template("example.com/engine:2.0")
		e.Spec.Template.Spec.NodeSelector = map[string]string{"no": "such-node"}
	})
	expect.Object(t, s.api, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a-g1"}},
		func(*appsv1.StatefulSet) error { return nil })
	s.remove(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a-service"}})
	expect.Object(t, s.api, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a-service"}},
		func(o *corev1.Service) error {
			if o.Spec.Selector[names.LabelGeneration] != "0" {
				return fmt.Errorf("selects %v", o.Spec.Selector)
			}
			return nil
		})
	// Another change abandons generation 1; its number is not reused.
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:3.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 2)
	if diff := cmp.Diff([]string{"a-g2", "a-g2-config", "a-g2-hl", "a-service"}, s.children(e)); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
}
