package superset_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// TestRecreatedSupersetAdoptsOrphans deletes a Superset with --cascade=orphan, also during a migration, and applies
// it again. A backup tool restores the objects without an owner.
func TestRecreatedSupersetAdoptsOrphans(t *testing.T) {
	t.Parallel()
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

// TestReplacedSupersetIsNotBlocked deletes a Superset and creates it again at once, as kubectl replace --force does. The
// objects of the deleted one are not foreign: the garbage collector deletes them.
func TestReplacedSupersetIsNotBlocked(t *testing.T) {
	l := newParallelEnv(t, options{})
	first := l.createRunning(full())
	if err := l.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := l.createRunning(full())
	l.history.catchUp()
	for _, v := range versions[*v1alpha1.Superset](l.history, 0, second.Name) {
		sup, ok := v.object.(*v1alpha1.Superset)
		if ok && sup.UID == second.UID && sup.Status.Phase == v1alpha1.PhaseBlocked {
			t.Fatalf("the new Superset was blocked: %+v", sup.Status.Conditions)
		}
	}
	if events := l.events(); events["Warning ReconcileError"] > 0 {
		t.Errorf("events %v", events)
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
	sup := l.createRunning(celery())
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
	expect.Unwritten(t, l.client, other)
	if err := l.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	l.fail(pod) // it runs nothing then
	l.waitFor(sup, settled)
	l.history.checkTasks("migrate")
	l.waitEvents(map[string]int{"Normal UpgradeStarted": 1, "Warning NotOwned": 1, "Normal DrainingStarted": 1})
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
