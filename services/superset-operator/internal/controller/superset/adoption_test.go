package superset_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// TestRecreatedSupersetAdoptsOrphans deletes a Superset with --cascade=orphan, also during a migration, and applies
// it again. A backup tool restores the objects without an owner.
func TestRecreatedSupersetAdoptsOrphans(t *testing.T) {
	atRest := func(*recordedEnv, *v1alpha1.Superset) {}
	for name, tc := range map[string]struct {
		before func(*recordedEnv, *v1alpha1.Superset)
		after  func(*recordedEnv)
	}{
		"at rest": {atRest, func(*recordedEnv) {}},
		"during a migration": {func(l *recordedEnv, sup *v1alpha1.Superset) {
			l.edit(sup, func(s *v1alpha1.Superset) { disablePreflight(s); tasks(finishAfter("1h"))(s); image("6.1.0")(s) })
			l.waitFor(sup, task("migrate", v1alpha1.TaskRunning, 1))
			l.podOf("migrate", corev1.PodRunning)
		}, func(*recordedEnv) {}},
		"restored from a backup": {atRest, (*recordedEnv).restoreChildren},
	} {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(full())
			tc.before(l, sup)
			if err := l.client.Delete(t.Context(), sup, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
				t.Fatal(err)
			}
			expect.Deleted(t, l.client, sup)
			tc.after(l)
			orphans := l.permanentChildren()
			second := l.createRunning(full(image("6.1.0")))
			for _, kind := range children() {
				for _, obj := range l.all(kind) {
					if !metav1.IsControlledBy(obj, second) {
						t.Errorf("%T %s is not owned by the new Superset: %v", obj, obj.GetName(), obj.GetOwnerReferences())
					}
				}
			}
			l.waitAdopted(orphans)
			if events := l.events(); len(orphans) < 10 || events["Warning ReconcileError"] > 0 {
				t.Errorf("orphans %v, events %v", orphans, events)
			}
		})
	}
}

// conflicting returns foreign objects with the names of desired objects: one of each kind that the components have.
func conflicting(labels func(slug string) map[string]string) []client.Object {
	named := func(name, slug string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Labels: labels(slug)} }
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"whose": "another"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	}
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "x", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: named("lab-mcp-server", "mcp-server"), Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, Template: pod, Replicas: new(int32(0)),
		}},
		&corev1.Service{ObjectMeta: named("lab-celery-flower", "celery-flower"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.ConfigMap{ObjectMeta: named("lab-celery-beat-config", "celery-beat")},
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named("lab-celery-worker", "celery-worker"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "x"}, MaxReplicas: 3,
		}},
		&policyv1.PodDisruptionBudget{ObjectMeta: named("lab-web-server", "web-server")},
		&networkingv1.Ingress{ObjectMeta: named("lab", ""), Spec: networkingv1.IngressSpec{DefaultBackend: &backend}},
		&networkingv1.NetworkPolicy{ObjectMeta: named("lab-web-server-netpol", "web-server")},
	}
}

// TestForeignObjectsAreReportedAndKept creates foreign objects with the names of desired objects: without the labels,
// with all labels except one, and with all labels and another owner. After their deletion the operator creates its
// own objects.
func TestForeignObjectsAreReportedAndKept(t *testing.T) {
	owned := func(slug string) map[string]string { return names.Labels("lab", slug) }
	for name, labels := range map[string]func(slug string) map[string]string{
		"without its labels":  func(string) map[string]string { return map[string]string{"whose": "another"} },
		"without one of them": func(slug string) map[string]string { l := owned(slug); delete(l, v1alpha1.LabelParent); return l },
		"of another owner":    owned,
	} {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "owner"}}
			if err := l.client.Create(t.Context(), owner); err != nil {
				t.Fatal(err)
			}
			others := conflicting(labels)
			for _, obj := range others {
				obj.SetNamespace(l.namespace)
				if name == "of another owner" {
					if err := controllerutil.SetControllerReference(owner, obj, l.client.Scheme()); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.client.Create(t.Context(), obj); err != nil {
					t.Fatalf("%T: %v", obj, err)
				}
			}
			for _, obj := range others {
				if d, ok := obj.(*appsv1.Deployment); ok { // until it is known to have no pods, it blocks the migration
					expect.Object(t, l.client, d, func(d *appsv1.Deployment) error {
						if !snapshot.Idle(d) {
							return fmt.Errorf("status %+v", d.Status)
						}
						return nil
					})
				}
			}
			sup := l.create(full()(l.env))
			l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), stalled("NotOwned", metav1.ConditionTrue)))
			text := message(sup, "Degraded")
			if !strings.Contains(text, "lab-") || !strings.Contains(text, "Delete or rename") {
				t.Errorf("message of Degraded: %q", text)
			}
			for _, obj := range others {
				generation, uid := obj.GetGeneration(), obj.GetUID()
				if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
					t.Fatalf("%T: %v", obj, err)
				}
				if obj.GetUID() != uid || obj.GetGeneration() != generation || metav1.IsControlledBy(obj, sup) || obj.GetDeletionTimestamp() != nil {
					t.Errorf("%T %s was changed", obj, obj.GetName())
				}
				if err := l.client.Delete(t.Context(), obj); err != nil {
					t.Fatal(err)
				}
			}
			l.waitFor(sup, settled)
		})
	}
}

// foreignDeployment returns a Deployment of another owner with the given labels on itself and on its pods.
func (l *recordedEnv) foreignDeployment(name string, labels, podLabels map[string]string) *appsv1.Deployment {
	another := map[string]string{"whose": "another"}
	pod := maps.Clone(another)
	maps.Copy(pod, podLabels)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: another},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pod},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
			},
		},
	}
}

// TestForeignObjectBlocksDrain creates a foreign Deployment and pod with the labels of the components: an upgrade
// reports them and drains no component.
func TestForeignObjectBlocksDrain(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full())
	labels := names.Labels("lab", "celery-worker")
	other := l.foreignDeployment("foreign", labels, nil)
	if err := l.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "debug", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	}
	if err := l.client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	start := l.editAndGetRevision(sup, image("6.1.0"))
	l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), stalled("NotOwned", metav1.ConditionTrue),
		condition("LifecycleComplete", metav1.ConditionFalse, "NotOwned")))
	if text := message(sup, "LifecycleComplete"); !strings.Contains(text, "Deployment foreign, Pod debug") || !strings.Contains(text, v1alpha1.LabelInstance) {
		t.Errorf("message of LifecycleComplete: %q", text)
	}
	l.waitEvents(map[string]int{"Warning NotOwned": 1, "Normal DrainingStarted": 0})
	expect.Never(t, time.Second, func() error {
		if started := withoutPreflight(l.history.tasks(start)); len(started) > 0 {
			return fmt.Errorf("%v ran", started)
		}
		return nil
	})
	for _, obj := range []client.Object{pod, other} {
		if err := l.client.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	l.waitFor(sup, settled)
	l.history.checkTasks("migrate")
}

// TestForeignPodBlocksDrain creates a foreign Deployment whose name continues that of a component and whose pods have
// the component's labels.
func TestForeignPodBlocksDrain(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal())
	other := l.foreignDeployment("lab-web-server-extra", nil, names.Labels("lab", "web-server"))
	if err := l.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, l.client, other, func(d *appsv1.Deployment) error {
		if d.Status.Replicas != 1 {
			return fmt.Errorf("%d pods", d.Status.Replicas)
		}
		return nil
	})
	l.edit(sup, image("6.1.0"))
	l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), condition("LifecycleComplete", metav1.ConditionFalse, "NotOwned")))
	if text := message(sup, "LifecycleComplete"); !strings.Contains(text, "Pod lab-web-server-extra-") {
		t.Errorf("message of LifecycleComplete: %q", text)
	}
	l.waitEvents(map[string]int{"Warning NotOwned": 1, "Normal DrainingStarted": 0})
	if err := l.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	l.waitFor(sup, settled)
	l.history.checkTasks("migrate")
}
