package superset_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// TestForeignStatusWriteIsReverted checks that the operator reverts a status field that a user patched, and
// continues.
func TestForeignStatusWriteIsReverted(t *testing.T) {
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Blocked","ready":"9/9"}}`))
	if err := e.client.Status().Patch(t.Context(), sup.DeepCopy(), patch, client.FieldOwner("kubectl-patch")); err != nil {
		t.Fatal(err)
	}
	e.waitFor(sup, func(s *v1alpha1.Superset) error {
		if s.Status.Phase != v1alpha1.PhaseRunning || s.Status.Ready == "9/9" {
			return fmt.Errorf("phase %s, ready %s", s.Status.Phase, s.Status.Ready)
		}
		return nil
	})
}

// TestForeignObjectsStayUnchanged checks that objects of a user stay unchanged, whatever their names and labels are:
// while the components are installed, drained for an upgrade and stopped.
func TestForeignObjectsStayUnchanged(t *testing.T) {
	e := start(t, options{})
	sup := e.sample("development.yaml")
	sup.Namespace = e.namespace
	named := func(component string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: e.namespace, Name: names.Component(sup.Name, component), Labels: names.Labels(sup.Name, component),
		}
	}
	web, disabled := named("web-server"), named("celery-flower")
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: disabled.Labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	}
	others := []client.Object{
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: web, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: web.Name}, MaxReplicas: 3,
		}},
		&policyv1.PodDisruptionBudget{ObjectMeta: web},
		&appsv1.Deployment{ObjectMeta: disabled, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, Template: pod,
		}},
		&corev1.Service{ObjectMeta: disabled, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.ConfigMap{ObjectMeta: named("celery-flower-config")},
	}
	created := e.create(sup)
	for _, obj := range others {
		if err := e.client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	unchanged := func(when string) {
		t.Helper()
		for _, obj := range others {
			live, ok := obj.DeepCopyObject().(client.Object)
			if !ok {
				t.Fatalf("%T is not a client.Object", obj)
			}
			err := e.client.Get(t.Context(), client.ObjectKeyFromObject(obj), live)
			if err != nil || live.GetUID() != obj.GetUID() || metav1.IsControlledBy(live, created) || live.GetDeletionTimestamp() != nil ||
				live.GetGeneration() != obj.GetGeneration() || !maps.Equal(live.GetLabels(), obj.GetLabels()) {
				t.Errorf("%s: %T was changed: %v, %v", when, obj, live, err)
			}
		}
	}
	e.waitFor(created, phase(v1alpha1.PhaseRunning))
	unchanged("running")
	e.edit(created, image("6.1.0"))
	e.waitFor(created, all(settled, lifecyclePhase(v1alpha1.LifecycleComplete)))
	unchanged("upgraded")
	e.edit(created, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
	e.waitFor(created, phase(v1alpha1.PhaseStopped))
	unchanged("stopped")
}

// TestForeignJobIsNoAttempt creates a Job of a user with the name and a label of a task: it does not count as
// an attempt, stays unchanged, and is reported.
func TestForeignJobIsNoAttempt(t *testing.T) {
	l := newParallelEnv(t, options{})
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "c"}},
	}}
	meta := metav1.ObjectMeta{Namespace: l.namespace, Name: "lab-migrate", Labels: map[string]string{v1alpha1.LabelInstance: "lab"}}
	foreign := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: pod, Suspend: new(true)}}
	if err := l.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	sup := l.create(minimal()(l.env))
	l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), condition("Degraded", metav1.ConditionTrue, "NotOwned"),
		condition("Progressing", metav1.ConditionFalse, "NotOwned"), func(s *v1alpha1.Superset) error {
			if text := message(s, "Degraded"); !strings.Contains(text, `job "lab-migrate"`) || !strings.Contains(text, "Delete or rename") {
				return fmt.Errorf("message of Degraded: %q", text)
			}
			return nil
		}))
	live := &batchv1.Job{}
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), live); err != nil || live.UID != foreign.UID || live.Generation != foreign.Generation || len(live.OwnerReferences) > 0 {
		t.Errorf("the Job was changed: %v, %v", live, err)
	}
	if err := l.client.Delete(t.Context(), foreign, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	l.waitFor(sup, settled)
	if n := sup.Status.Lifecycle.Migrate.Attempts; n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
	l.history.checkTasks("migrate")
}
