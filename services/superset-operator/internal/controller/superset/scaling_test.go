package superset_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// scale sets the replicas like an autoscaler.
func (l *recordedEnv) scale(slug string, replicas int32) {
	l.t.Helper()
	d := l.deployment(slug)
	body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if err := l.client.SubResource("scale").Update(l.t.Context(), d, client.WithSubResourceBody(body)); err != nil {
		l.t.Fatal(err)
	}
}

func replicas(want int32) func(*appsv1.Deployment) error {
	return func(d *appsv1.Deployment) error {
		if *d.Spec.Replicas != want {
			return fmt.Errorf("%d replicas, want %d", *d.Spec.Replicas, want)
		}
		return nil
	}
}

// TestW11AutoscaledComponentsKeepReplicas covers all changes to the Deployment of an autoscaled worker.
func TestW11AutoscaledComponentsKeepReplicas(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full())
	l.scale("celery-worker", 4)
	l.waitRolledOut("celery-worker", replicas(4))
	l.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
		if c := s.Status.Components.CeleryWorker; c.Ready != "4/4" || s.Status.Ready != "10/10" {
			return fmt.Errorf("worker %s, all %s", c.Ready, s.Status.Ready)
		}
		return nil
	}))

	// A change of its template does not reset it.
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryWorker.Config = new("X = 1") })
	l.waitFor(sup, settled)
	l.waitRolledOut("celery-worker", replicas(4))

	// A drain removes the Deployment. The new one has the former number of replicas from its first version on.
	start := l.editAndGetRevision(sup, image("6.1.0"))
	l.waitFor(sup, settled)
	l.waitRolledOut("celery-worker", replicas(4))
	l.history.checkTasks("migrate")
	recreated := creationRevision[*appsv1.Deployment](l.history, start, "lab-celery-worker")
	firstRevision(l.history, recreated, "lab-celery-worker", func(d *appsv1.Deployment) bool {
		if d.ResourceVersion == fmt.Sprint(recreated) && *d.Spec.Replicas != 4 {
			t.Errorf("the new Deployment started with %d replicas", *d.Spec.Replicas)
		}
		return true
	})

	// Stop and start.
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
	l.waitFor(sup, phase(v1alpha1.PhaseStopped))
	l.waitRolledOut("celery-worker", replicas(0))
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, ""))
	l.waitFor(sup, settled)
	l.waitRolledOut("celery-worker", replicas(4))

	// A minimum above that number applies.
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryWorker.Autoscaling.MinReplicas = new(int32(5)) })
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
	l.waitFor(sup, phase(v1alpha1.PhaseStopped))
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, ""))
	l.waitRolledOut("celery-worker", replicas(5))
}

func TestSuspendDuringMigrationChangesNothing(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery())
	l.edit(sup, func(s *v1alpha1.Superset) { tasks(finishAfter("1h"))(s); image("6.1.0")(s) })
	l.finish("preflight")
	l.waitFor(sup, task("migrate", v1alpha1.TaskRunning, 1))
	l.podOf("migrate", corev1.PodRunning)
	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { s.Spec.Suspend = new(true) })
	l.waitFor(sup, all(phase(v1alpha1.PhaseSuspended), condition("Suspended", metav1.ConditionTrue, "Suspended")))
	// The operator does not touch the Job, so it finishes, and no other task starts.
	l.finish("migrate")
	l.podOf("migrate", corev1.PodSucceeded)
	expect.Never(t, time.Second, func() error {
		if n := len(l.owned(&appsv1.DeploymentList{}, sup)); n != 1 {
			return fmt.Errorf("%d Deployments, want only the one of the page", n)
		}
		if n := len(versions[*corev1.Service](l.history, start, "lab-web-server")); n > 0 {
			return errors.New("the Service was changed")
		}
		if started := l.history.tasks(start); len(started) > 0 {
			return fmt.Errorf("%v ran", started)
		}
		return nil
	})
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Suspend = nil })
	l.finish("init")
	l.waitFor(sup, all(settled, task("migrate", v1alpha1.TaskComplete, 1)))
	l.history.checkTasks("migrate")
}

// TestStopDuringUpgradeWaitsForTask also upgrades a stopped Superset.
func TestStopDuringUpgradeWaitsForTask(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery())
	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { tasks(finishAfter("1h"))(s); image("6.1.0")(s) })
	l.finish("preflight")
	l.waitFor(sup, task("migrate", v1alpha1.TaskRunning, 1))
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
	l.waitFor(sup, all(task("migrate", v1alpha1.TaskRunning, 1), condition("Stopped", metav1.ConditionFalse, "Stopping")))
	l.finish("migrate")
	l.waitFor(sup, all(task("migrate", v1alpha1.TaskComplete, 1), phase(v1alpha1.PhaseStopped), condition("Stopped", metav1.ConditionTrue, "Stopped")))
	if pods := l.pods(); len(pods) > 0 {
		t.Errorf("pods %v still exist", pods)
	}
	expect.Never(t, 500*time.Millisecond, func() error {
		if started := taskNames(l.history.tasks(start)); len(started) != 2 {
			return fmt.Errorf("%v ran", started)
		}
		return nil
	})
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, ""))
	l.finish("init")
	l.waitFor(sup, all(settled, task("init", v1alpha1.TaskComplete, 1)))
	l.history.checkTasks("migrate")

	l.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
	l.waitFor(sup, phase(v1alpha1.PhaseStopped))
	start = l.editAndGetRevision(sup, image("6.2.0"))
	l.waitFor(sup, phase(v1alpha1.PhaseStopped))
	if started := l.history.tasks(start); len(started) > 0 {
		t.Errorf("%v ran while stopped", started)
	}
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, ""))
	l.finish("preflight", "migrate", "init")
	l.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
		if s.Status.LastLifecycleImage != "apache/superset:6.2.0" {
			return fmt.Errorf("image %s", s.Status.LastLifecycleImage)
		}
		return nil
	}))
	l.history.checkTasks("migrate")
}

// setsReplicas reports whether the operator owns spec.replicas.
func setsReplicas(d *appsv1.Deployment) bool {
	for _, entry := range d.ManagedFields {
		if entry.Manager == names.FieldManager && strings.Contains(entry.FieldsV1.GetRawString(), `"f:replicas"`) {
			return true
		}
	}
	return false
}

// TestAutoscalerOwnsReplicas also adds an autoscaler to a component with a fixed number of pods: it never runs with
// the API server's default of one.
func TestAutoscalerOwnsReplicas(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery(func(s *v1alpha1.Superset) { s.Spec.WebServer.Replicas = new(int32(3)) }))
	free := func(n int32) func(*appsv1.Deployment) error {
		return func(d *appsv1.Deployment) error {
			if setsReplicas(d) {
				return fmt.Errorf("%s: the operator sets the number of pods", d.Name)
			}
			return replicas(n)(d)
		}
	}
	l.waitRolledOut("celery-worker", free(1))
	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) {
		s.Spec.WebServer.Autoscaling = &v1alpha1.AutoscalingSpec{MinReplicas: new(int32(2)), MaxReplicas: 6}
	})
	l.waitRolledOut("web-server", free(3))
	l.scale("web-server", 5)
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.WebServer.Config = new("X = 1") })
	l.waitRolledOut("web-server", free(5))
	l.waitFor(sup, settled)
	if got := sequence(l.history, start, "lab-web-server", func(d *appsv1.Deployment) string { return fmt.Sprint(*d.Spec.Replicas) }); !slices.Equal(got, []string{"3", "5"}) {
		t.Errorf("replicas were %v", got)
	}

	// Without the autoscaler the spec sets the number of pods again.
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.WebServer.Autoscaling = nil })
	l.waitRolledOut("web-server", func(d *appsv1.Deployment) error {
		if !setsReplicas(d) {
			return errors.New("the operator does not set the number of pods")
		}
		return replicas(3)(d)
	})
}

// evict makes the pod of a component Failed, as an eviction does. The pod stays, and its ReplicaSet replaces it.
func (l *recordedEnv) evict(slug string) *corev1.Pod {
	l.t.Helper()
	var list corev1.PodList
	err := l.client.List(l.t.Context(), &list, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelComponent: slug})
	if err != nil || len(list.Items) != 1 {
		l.t.Fatalf("%d pods of %s, want 1 (%v)", len(list.Items), slug, err)
	}
	pod := &list.Items[0]
	l.fail(pod)
	return pod
}

// fail sets the phase of a pod to Failed.
func (l *recordedEnv) fail(pod *corev1.Pod) {
	l.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed","reason":"Evicted","conditions":null,"containerStatuses":null}}`))
	if err := l.client.Status().Patch(l.t.Context(), pod, patch); err != nil {
		l.t.Fatal(err)
	}
}

// TestDrainKeepsComponentsWithoutPods drains and stops a Superset with a component that desires no pods, and has one that
// was evicted before.
func TestDrainKeepsComponentsWithoutPods(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full())
	evicted := l.evict("celery-flower")
	l.waitRolledOut("celery-flower", replicas(1))
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryFlower.Replicas = new(int32(0)) })
	l.waitRolledOut("celery-flower", replicas(0))
	l.waitFor(sup, settled)
	idle, busy := l.deployment("celery-flower"), l.deployment("web-server")
	service := get(l.env, "lab-celery-flower", &corev1.Service{})
	l.edit(sup, image("6.1.0"))
	l.waitFor(sup, settled)
	l.history.checkTasks("migrate")
	if now := l.deployment("celery-flower"); now.UID != idle.UID || runningImage(now) != "apache/superset:6.1.0" {
		t.Errorf("the Deployment without pods was recreated, or runs %s", runningImage(now))
	}
	if l.deployment("web-server").UID == busy.UID {
		t.Error("the web server was not removed")
	}
	if get(l.env, "lab-celery-flower", &corev1.Service{}).UID != service.UID {
		t.Error("the Service of a component without pods was removed")
	}
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryFlower.Replicas = new(int32(1)) })
	l.waitFor(sup, settled)
	l.waitRolledOut("celery-flower", replicas(1))
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
	l.waitFor(sup, phase(v1alpha1.PhaseStopped))
	if pod := get(l.env, evicted.Name, &corev1.Pod{}); pod.Status.Phase != corev1.PodFailed {
		t.Errorf("the evicted pod is %s", pod.Status.Phase)
	}
}
