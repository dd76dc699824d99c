package integration

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// serves waits until the cluster Service selects a generation with a ready pod of the given image.
func (s *testEnv) serves(generation, image string) {
	s.t.Helper()
	route := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a-service"}}
	expect.Object(s.t, s.api, route, func(o *corev1.Service) error {
		var pods corev1.PodList
		if err := s.api.List(s.t.Context(), &pods, client.InNamespace(s.namespace), client.MatchingLabels(o.Spec.Selector)); err != nil {
			return err
		}
		for _, p := range pods.Items {
			if o.Spec.Selector[names.LabelGeneration] == generation && ready(p) && p.Spec.Containers[0].Image == image {
				return nil
			}
		}
		return fmt.Errorf("the Service selects %v with %d pods", o.Spec.Selector, len(pods.Items))
	})
}

// keepsRoute checks for some time that the Service of engine a selects a generation.
func (s *testEnv) keepsRoute(generation string) {
	s.t.Helper()
	expect.Never(s.t, short, func() error {
		route := &corev1.Service{}
		if err := s.api.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "a-service"}, route); err != nil {
			return err
		}
		if got := route.Spec.Selector[names.LabelGeneration]; got != generation {
			return fmt.Errorf("the Service selects generation %s", got)
		}
		return nil
	})
}

func (s *testEnv) reaches(e *v1alpha1.FireboltEngine, phase v1alpha1.EnginePhase) {
	s.t.Helper()
	expect.Object(s.t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		if e.Status.Phase != phase {
			return fmt.Errorf("phase %s", e.Status.Phase)
		}
		return nil
	})
}

func statefulSet(name string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// A serving StatefulSet that is deleted while its successor cannot start is restored to its last version.
func TestServingGenerationIsRecreatedDuringCreating(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 2)
	e.Spec.Template = template("example.com/engine:1.0")
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = unschedulable("example.com/engine:2.0") })
	appears(s, &appsv1.StatefulSet{}, "a-g1")
	s.remove(statefulSet("a-g0"))
	s.serves("0", "example.com/engine:1.0")
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:1.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.checkChildren(e, "a-g0", "a-g0-config", "a-g0-hl", "a-service")
}

// If a serving StatefulSet is deleted while queries keep its predecessor, traffic returns
// to the predecessor, without a drain timeout, and the StatefulSet is recreated.
func TestServingGenerationReturnsTrafficDuringDraining(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.queries.running.Store(1)
	e := engineOf("a", 2)
	e.Spec.DrainCheckEnabled, e.Spec.Template = nil, template("example.com/engine:1.0")
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.reaches(e, v1alpha1.PhaseDraining)
	services := s.record(corev1.SchemeGroupVersion.WithKind("Service"))
	s.remove(statefulSet("a-g1"))
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		if got := phases(e); got != "creating switching stable creating switching draining creating switching draining" {
			return fmt.Errorf("phases %s", got)
		}
		return nil
	})
	s.serves("1", "example.com/engine:2.0")
	var selected []string
	for _, m := range services.snapshots() {
		for _, o := range of[corev1.Service](m, "Service") {
			if n := o.Spec.Selector[names.LabelGeneration]; o.Name == "a-service" && (len(selected) == 0 || selected[len(selected)-1] != n) {
				selected = append(selected, n)
			}
		}
	}
	if got := fmt.Sprint(selected); got != "[1 0 1]" {
		t.Errorf("the Service selected %s, want [1 0 1]", got)
	}
	s.queries.running.Store(0)
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	s.checkChildren(e, "a-g1", "a-g1-config", "a-g1-hl", "a-service")
}

// Children are found by their controller reference; labels that a user removes are restored.
func TestRemovedLabelsAreRestored(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	for _, o := range []client.Object{
		statefulSet("a-g0"), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a-g0-hl"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a-g0-config"}}, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a-service"}},
	} {
		o.SetNamespace(s.namespace)
		if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		was := o.GetLabels()
		before, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			t.Fatalf("%T is not an object", o)
		}
		o.SetLabels(nil)
		if err := s.api.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		expect.Object(t, s.api, o, func(o client.Object) error {
			for k, v := range was {
				if o.GetLabels()[k] != v {
					return fmt.Errorf("labels %v, want %v", o.GetLabels(), was)
				}
			}
			return nil
		})
	}
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	s.checkChildren(e, "a-g1", "a-g1-config", "a-g1-hl", "a-service")
}

// A terminating generation that loses its labels is still deleted.
func TestRemovedLabelOrphansNoChild(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.stopAndWait()
	set := appears(s, &appsv1.StatefulSet{}, "a-g0")
	set.Labels = nil
	if err := s.api.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.run()
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	expect.Deleted(t, s.api, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a-g0"}})
}

// The next number depends on the engine's own objects and its status, not on
// selectors, which any user can change.
func TestGenerationNumberIgnoresServiceSelector(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	for i, number := range []string{"99", "9223372036854775807"} {
		s.stopAndWait()
		route := appears(s, &corev1.Service{}, "a-service")
		route.Spec.Selector[names.LabelGeneration] = number
		if err := s.api.Update(t.Context(), route); err != nil {
			t.Fatal(err)
		}
		s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template(fmt.Sprintf("example.com/engine:%d", i)) })
		s.run()
		s.waitForRollout(e, v1alpha1.PhaseStable, int64(i+1))
		s.serves(fmt.Sprint(i+1), fmt.Sprintf("example.com/engine:%d", i))
	}
}

// A name that belongs to another owner uses up a number; the object is not changed.
func TestForeignNameSkipsGenerationNumber(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]client.Object{
		"a StatefulSet": &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "a-g1"},
			Spec: appsv1.StatefulSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}}, Spec: template("x").Spec},
			},
		},
		"a Service with our labels": &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "a-g1-hl", Labels: names.GenerationLabels("a", 1)},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		},
		"a ConfigMap": &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a-g1-config"}, Data: map[string]string{"a": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			e := engineOf("a", 1)
			s.create(e)
			s.waitForRollout(e, v1alpha1.PhaseStable, 0)
			s.create(object)
			s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
			s.waitForRollout(e, v1alpha1.PhaseStable, 2)
			for _, f := range fetch(s, object).GetManagedFields() {
				if f.Manager == names.FieldManager {
					t.Error("the operator wrote to an object of another owner")
				}
			}
		})
	}
}

// A foreign object with a name of the serving generation is reported, and blocks neither the next rollout nor the
// deletion of the other objects.
func TestForeignServiceOfServingGenerationBlocksNoRollout(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.waitForIdle()
	s.stopAndWait()
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a-g0-hl"}}
	s.remove(foreign)
	foreign = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "a-g0-hl"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	s.create(foreign)
	s.run()
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		c := meta.FindStatusCondition(e.Status.Conditions, "Degraded")
		if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "a-g0-hl") || !strings.Contains(c.Message, "Delete or rename") {
			return fmt.Errorf("Degraded = %+v", c)
		}
		return nil
	})
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	waitReason(t, s, e, v1alpha1.ReasonEngineReady)
	s.checkChildren(e, "a-g1", "a-g1-config", "a-g1-hl", "a-service")
	if live := fetch(s, foreign); live.UID != foreign.UID || live.Generation != foreign.Generation || live.DeletionTimestamp != nil {
		t.Errorf("the foreign Service changed: %+v", live.ObjectMeta)
	}
}
