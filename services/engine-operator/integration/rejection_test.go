package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// Invalid input, without any webhook: the condition lists every offending path, the
// serving generation stays, and nothing is created.
func TestRejectedTemplateListsPathsAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	before := s.children(e)
	s.edit(e, func(e *v1alpha1.FireboltEngine) {
		e.Spec.Template = template("example.com/engine:2.0")
		e.Spec.Template.Spec.HostNetwork = true
		e.Spec.Template.Spec.Containers[0].Command = []string{"true"}
		e.Spec.Template.Labels = map[string]string{"firebolt.io/engine": "b"}
	})
	c := waitReason(t, s, e, v1alpha1.ReasonTemplateRejected)
	for _, path := range []string{"hostNetwork", "containers[engine].command", "labels"} {
		if !strings.Contains(c.Message, path) {
			t.Errorf("the condition does not name %s: %s", path, c.Message)
		}
	}
	if want := validation.Message(validation.EngineTemplate(e, nil)) + " Correct the engine or its class."; c.Message != want {
		t.Errorf("the condition has message %q, want that of admission and the remedy, %q", c.Message, want)
	}
	if c.ObservedGeneration != e.Generation {
		t.Errorf("the condition has observedGeneration %d, want %d", c.ObservedGeneration, e.Generation)
	}
	if c := meta.FindStatusCondition(e.Status.Conditions, "Available"); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("Available = %+v, want True while the generation serves", c)
	}
	expect.Never(t, short, func() error {
		if diff := cmp.Diff(before, s.children(e)); diff != "" {
			return fmt.Errorf("objects were created or deleted (-before +after):\n%s", diff)
		}
		return nil
	})
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
}

// The engine's condition also reports what only the API server can reject.
func TestEngineReportsPodRejectedByAPIServer(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Spec.Template = template("example.com/engine:1.0")
	e.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}
	s.create(e)
	c := waitReason(t, s, e, v1alpha1.ReasonApplyRefused)
	if !strings.Contains(c.Message, "a-g0") || !strings.Contains(c.Message, "must be less than or equal to cpu limit") {
		t.Errorf("Ready has message %q", c.Message)
	}
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = nil })
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// A StatefulSet of another owner with the name of the next generation is not changed.
func TestEngineKeepsForeignStatefulSet(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	labels := map[string]string{"by": "hand"}
	foreign := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "a-g0"},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, Replicas: new(int32),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
	s.create(foreign)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 1) // its name costs a number
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || foreign.Generation != 1 {
		t.Errorf("foreign StatefulSet: %v, generation %d", err, foreign.Generation)
	}
}

// The name of the cluster Service is fixed: an engine reports the other owner, and continues once the name is free.
func TestEngineReportsForeignClusterService(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	service := func() *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "a-service", Labels: names.EngineLabels("a")},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: names.GenerationLabels("a", 0)},
		}
	}
	foreign := service()
	s.create(foreign)
	e := engineOf("a", 1)
	e.Spec.Template = unschedulable("example.com/engine:1.0")
	s.create(e)
	appears(s, &appsv1.StatefulSet{}, "a-g0")
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	c := waitReason(t, s, e, v1alpha1.ReasonApplyRefused)
	for _, want := range []string{"a-service", "is not controlled by the owner", "Delete or rename the conflicting object."} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the condition has message %q, want %q in it", c.Message, want)
		}
	}
	s.checkChildren(e, "a-g0", "a-g0-config", "a-g0-hl", "a-g1", "a-g1-config", "a-g1-hl", "a-service")
	if diff := cmp.Diff(service().Spec.Selector, fetch(s, foreign).Spec.Selector); diff != "" {
		t.Errorf("the selector of the foreign Service was changed (-before +after):\n%s", diff)
	}
	s.remove(foreign)
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	s.checkChildren(e, "a-g1", "a-g1-config", "a-g1-hl", "a-service")

	s.stopAndWait()
	s.remove(service())
	s.create(service())
	s.run()
	waitReason(t, s, e, v1alpha1.ReasonApplyRefused) // the pods are ready, but nothing routes to them
	s.remove(service())
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// Specification 001, "Admission resource bounds", enforced by the controller as well.
func TestControllerRejectsResourcesAboveBounds(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.stopAndWait()
	s.settings.Admission.MaxCPU = "2"
	s.run()
	e := engineOf("a", 1)
	e.Spec.Template = template("example.com/engine:1.0")
	e.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2500m"), corev1.ResourceMemory: resource.MustParse("900Gi"),
	}
	s.create(e)
	c := waitReason(t, s, e, v1alpha1.ReasonBoundsExceeded)
	if !strings.Contains(c.Message, "spec.template.spec.containers[engine].resources.limits.cpu") || strings.Contains(c.Message, "memory") {
		t.Errorf("the condition has message %s", c.Message)
	}
	if got := s.children(e); len(got) > 0 {
		t.Errorf("created objects: %v", got)
	}
	s.edit(e, func(e *v1alpha1.FireboltEngine) {
		e.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	})
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
}

// Specification 001, "StatefulSet event propagation": the engine reports the events
// of the StatefulSet.
func TestEngineReportsExceededQuota(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	s.create(quota)
	expect.Object(t, s.api, quota, func(q *corev1.ResourceQuota) error {
		if len(q.Status.Hard) == 0 {
			return fmt.Errorf("the quota is not in force yet")
		}
		return nil
	})
	e := engineOf("a", 2)
	s.create(e)
	c := waitReason(t, s, e, "FailedCreate")
	if !strings.HasPrefix(c.Message, "StatefulSet a-g0: ") || !strings.Contains(c.Message, "exceeded quota") {
		t.Errorf("Ready has message %q", c.Message)
	}
	s.remove(quota)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// The deletion of an instance stops nothing that runs; recreating the same instance
// changes nothing.
func TestRecreatedInstanceStartsNoRollout(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	i := &v1alpha1.FireboltInstance{}
	if err := s.api.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "shop"}, i); err != nil {
		t.Fatal(err)
	}
	s.stopAndWait() // a user removes the finalizer while the operator is down
	before := i.DeepCopy()
	i.Finalizers = nil
	if err := s.api.Patch(t.Context(), i, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	s.remove(i)
	expect.Deleted(t, s.api, i)
	s.run()
	waitReason(t, s, e, v1alpha1.ReasonInstanceNotReady)
	expect.Condition(t, s.api, e, v1alpha1.ConditionInstanceReady, metav1.ConditionFalse)
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	recreated := instance("shop")
	recreated.Spec.ID = before.Spec.ID
	s.create(recreated)
	waitReason(t, s, e, v1alpha1.ReasonEngineReady)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Never(t, short, func() error {
		if got := s.children(e); slices.Contains(got, "a-g1") {
			return fmt.Errorf("the engine was rolled: %v", got)
		}
		return nil
	})
}

func TestScaleSubresourceScalesEngine(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)
	expect.Condition(t, s.api, e, "Upgradable", metav1.ConditionTrue)
	scale := &autoscalingv1.Scale{}
	if err := s.api.SubResource("scale").Get(t.Context(), e, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 1 || scale.Status.Replicas != 1 || scale.Status.Selector != "firebolt.io/engine=a,firebolt.io/generation=0" {
		t.Errorf("scale = %+v %+v", scale.Spec, scale.Status)
	}
	scale.Spec.Replicas = 2
	if err := s.api.SubResource("scale").Update(t.Context(), e, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	if e.Status.ReadyReplicas != 2 {
		t.Errorf("%d pods are ready, want 2", e.Status.ReadyReplicas)
	}
}

// A foreign finalizer on a child is reported and blocks nothing.
func TestForeignFinalizerIsReported(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	e.Finalizers = []string{"example.com/hold"}
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	config := appears(s, &corev1.ConfigMap{}, "a-g0-config")
	before := config.DeepCopy()
	config.Finalizers = append(config.Finalizers, "example.com/archive")
	if err := s.api.Patch(t.Context(), config, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	s.remove(e)
	expect.Object(t, s.api, e, func(e *v1alpha1.FireboltEngine) error {
		c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
		if slices.Contains(e.Finalizers, v1alpha1.EngineFinalizer) || c == nil || c.Reason != v1alpha1.ReasonExternalFinalizer {
			return fmt.Errorf("finalizers %v, Ready %+v", e.Finalizers, c)
		}
		return nil
	})
	config.ResourceVersion = ""
	s.release(config)
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Finalizers = nil })
	expect.Deleted(t, s.api, e)
}

// release removes all finalizers.
func (s *testEnv) release(o client.Object) {
	s.t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := s.api.Patch(s.t.Context(), o, patch); err != nil {
		s.t.Fatal(err)
	}
}
