package superset_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

const page = "lab-maintenance-page"

// selects reports whether a Service selects a component's pods.
func selects(component string) func(*corev1.Service) bool {
	return func(s *corev1.Service) bool { return s.Spec.Selector[v1alpha1.LabelComponent] == component }
}

func hasReadyPod(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas > 0 }

func TestUpgradeDrainsBehindMaintenancePage(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full(func(s *v1alpha1.Superset) {
		// Slow pods make the order of the steps visible.
		s.Spec.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{
			controlplane.EndAfterAnnotation: "300ms", controlplane.ReadyAfterAnnotation: "300ms",
		}}
	}, tasks(finishAfter("300ms"))))
	before := l.frontends()
	start := l.editAndGetRevision(sup, image("6.1.0"))
	l.waitFor(sup, all(settled, lifecyclePhase(v1alpha1.LifecycleComplete)))
	expect.Deleted(t, l.client, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: page}})
	expect.Deleted(t, l.client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: page + "-config"}})
	l.history.checkTasks("migrate", "init")

	if diff := cmp.Diff(before, l.frontends()); diff != "" {
		t.Errorf("endpoints of clients changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"preflight apache/superset:6.1.0", "migrate apache/superset:6.1.0", "init apache/superset:6.1.0"}, l.history.tasks(start)); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
	checkOrderOfUpgrade(t, l, start)
	l.checkWebServerFirst(start)
	checkStatusDuringUpgrade(t, l, start)
	// Two of the tasks' events come from the installation.
	l.waitEvents(map[string]int{
		"Normal UpgradeStarted": 1, "Normal UpgradeCompleted": 1, "Normal LifecycleStarted": 1, "Normal LifecycleComplete": 2,
		"Normal MaintenanceStarted": 1, "Normal MaintenanceEnded": 1, "Normal DrainingStarted": 1, "Normal DrainingCompleted": 1,
		"Normal TaskStarted": 5, "Normal TaskSucceeded": 5,
	})
}

// frontends returns the objects that clients connect to, which an upgrade must not recreate.
func (l *recordedEnv) frontends() map[string]string {
	l.t.Helper()
	service := get(l.env, "lab-web-server", &corev1.Service{})
	out := map[string]string{"service": string(service.UID) + " " + service.Spec.ClusterIP + fmt.Sprint(service.Spec.Selector)}
	ingress := get(l.env, "lab", &networkingv1.Ingress{})
	out["ingress"] = string(ingress.UID) + " " + ingress.ResourceVersion
	var policies networkingv1.NetworkPolicyList
	if err := l.client.List(l.t.Context(), &policies, client.InNamespace(l.namespace)); err != nil {
		l.t.Fatal(err)
	}
	for _, p := range policies.Items {
		out[p.Name] = string(p.UID) + " " + p.ResourceVersion
	}
	return out
}

func checkOrderOfUpgrade(t *testing.T, l *recordedEnv, start int64) {
	t.Helper()
	h := l.history
	var firstRemoved, lastDeleted, firstNew int64
	for _, p := range h.podLifetimes() {
		switch {
		case p.task != "" || p.component == "maintenance-page":
		case p.start < start:
			lastDeleted = max(lastDeleted, p.deleted)
		case firstNew == 0:
			firstNew = p.start
		}
	}
	for slug := range components(latest(h)) {
		at := deletionRevision[*appsv1.Deployment](h, start, "lab-"+slug)
		if firstRemoved == 0 || at < firstRemoved {
			firstRemoved = at
		}
	}
	routedToPage := firstRevision(h, start, "lab-web-server", selects("maintenance-page"))
	migrateJob := creationRevision[*batchv1.Job](h, start, "lab-migrate")
	initJob := creationRevision[*batchv1.Job](h, start, "lab-init")
	done := firstRevision(h, initJob, "lab-init", func(j *batchv1.Job) bool { return j.Status.Succeeded > 0 })
	webDeployment := creationRevision[*appsv1.Deployment](h, start, "lab-web-server")
	routedToWeb := firstRevision(h, routedToPage, "lab-web-server", selects("web-server"))
	checkAscending(t,
		namedRevision{"the change", start},
		namedRevision{"the Job of preflight", creationRevision[*batchv1.Job](h, start, "lab-preflight")},
		namedRevision{"a ready page", firstRevision(h, start, page, hasReadyPod)},
		namedRevision{"the Service selecting the page", routedToPage},
		namedRevision{"the deletion of the first Deployment", firstRemoved},
		namedRevision{"the end of the last component pod", lastDeleted},
		namedRevision{"the Job of migrate", migrateJob},
		namedRevision{"the Job of init", initJob},
		namedRevision{"the end of init", done},
		namedRevision{"the first new component pod", firstNew},
		namedRevision{"a ready web server", firstRevision(h, webDeployment, "lab-web-server", hasReadyPod)},
		namedRevision{"the Service selecting the web server", routedToWeb},
		namedRevision{"the deletion of the page", deletionRevision[*appsv1.Deployment](h, start, page)},
	)
}

// latest returns the last recorded version of the Superset.
func latest(h *history) *v1alpha1.Superset {
	list := versions[*v1alpha1.Superset](h, 0, "lab")
	sup, ok := list[len(list)-1].object.(*v1alpha1.Superset)
	if !ok {
		h.t.Fatal("no Superset was recorded")
	}
	return sup
}

func checkStatusDuringUpgrade(t *testing.T, l *recordedEnv, start int64) {
	t.Helper()
	phases := sequence(l.history, start, "lab", func(s *v1alpha1.Superset) string { return string(s.Status.Phase) })
	if diff := cmp.Diff([]string{"Running", "Upgrading", "Running"}, slices.DeleteFunc(phases, isDegraded)); diff != "" {
		t.Errorf("phases differ (-want +got):\n%s", diff)
	}
	steps := sequence(l.history, start, "lab", func(s *v1alpha1.Superset) string { return string(s.Status.Lifecycle.Phase) })
	if diff := cmp.Diff([]string{"Complete", "Checking", "Draining", "Migrating", "Initializing", "Restoring", "Complete"}, steps); diff != "" {
		t.Errorf("lifecycle phases differ (-want +got):\n%s", diff)
	}
	active := sequence(l.history, start, "lab", func(s *v1alpha1.Superset) string { return fmt.Sprint(s.Status.Lifecycle.MaintenanceActive) })
	if diff := cmp.Diff([]string{"false", "true", "false"}, active); diff != "" {
		t.Errorf("maintenanceActive differs (-want +got):\n%s", diff)
	}
	for _, v := range versions[*v1alpha1.Superset](l.history, start, "lab") {
		sup, ok := v.object.(*v1alpha1.Superset)
		if !ok {
			continue
		}
		checkMoment(t, sup)
	}
	var got []string
	for _, e := range latest(l.history).Status.Transitions {
		got = append(got, fmt.Sprintf("%d %s>%s", e.Seq, e.From, e.To))
	}
	if diff := cmp.Diff([]string{"1 >Initializing", "2 Initializing>Running", "3 Running>Upgrading", "4 Upgrading>Running"}, got); diff != "" {
		t.Errorf("transitions differ (-want +got):\n%s", diff)
	}
}

// checkMoment checks the invariants of each version of a status during an upgrade.
func checkMoment(t *testing.T, sup *v1alpha1.Superset) {
	t.Helper()
	s := &sup.Status
	if s.Lifecycle.Phase == v1alpha1.LifecycleMigrating || s.Lifecycle.Phase == v1alpha1.LifecycleInitializing {
		for slug, c := range components(sup) {
			if c.Phase != v1alpha1.ComponentDrained {
				t.Errorf("revision %s: %s is %s while %s", sup.ResourceVersion, slug, c.Phase, s.Lifecycle.Phase)
			}
		}
		if len(components(sup)) != 6 {
			t.Errorf("revision %s: %d components", sup.ResourceVersion, len(components(sup)))
		}
	}
	available := meta.FindStatusCondition(s.Conditions, "Available")
	if s.Phase == v1alpha1.PhaseRunning && s.Lifecycle.MaintenanceActive {
		t.Errorf("revision %s: phase Running while the maintenance page is active", sup.ResourceVersion)
	}
	if available != nil && available.ObservedGeneration == sup.Generation && available.Status == metav1.ConditionTrue &&
		s.Phase == v1alpha1.PhaseUpgrading && s.Lifecycle.Phase == v1alpha1.LifecycleMigrating {
		t.Errorf("revision %s: available while migrating", sup.ResourceVersion)
	}
}

// TestW1TaskEndsBeforeNextStarts changes the inputs of a task whose pod terminates slowly.
func TestW1TaskEndsBeforeNextStarts(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*v1alpha1.Superset){
		"another trigger": func(s *v1alpha1.Superset) {
			s.Spec.Lifecycle.Migrate = &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{Trigger: "again"}}
		},
		"another image": image("6.0.1"),
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			slowTasks := finishAfter("1h")
			slowTasks[controlplane.EndAfterAnnotation] = "1s"
			sup := l.create(minimal(tasks(slowTasks))(l.env))
			l.waitFor(sup, task("migrate", v1alpha1.TaskRunning, 1))
			l.podOf("migrate", corev1.PodRunning)
			start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { change(s); tasks(finishAfter("100ms"))(s) })
			l.waitFor(sup, settled)
			l.history.checkTasks("migrate")
			old := l.history.podLifetimes()[0]
			next := creationRevision[*batchv1.Job](l.history, start, "lab-migrate")
			if old.task != "migrate" || old.deleted > next {
				t.Errorf("the old pod %+v still existed when the next Job was created (%d)", old, next)
			}
		})
	}
}

// podOf waits until the newest pod of a task is in a phase.
func (l *recordedEnv) podOf(slug string, want corev1.PodPhase) *corev1.Pod {
	l.t.Helper()
	var found *corev1.Pod
	expect.Eventually(l.t, timeout, func() error {
		var list corev1.PodList
		err := l.client.List(l.t.Context(), &list, client.InNamespace(l.namespace), client.MatchingLabels{v1alpha1.LabelTask: slug})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if p := &list.Items[i]; p.DeletionTimestamp == nil && p.Status.Phase == want {
				found = p
				return nil
			}
		}
		return fmt.Errorf("no pod of %s is %s among %d", slug, want, len(list.Items))
	})
	return found
}

// finish ends the running pods of tasks with finishAfter, one after the other.
func (l *recordedEnv) finish(slugs ...string) {
	l.t.Helper()
	for _, slug := range slugs {
		pod := l.podOf(slug, corev1.PodRunning)
		before := client.MergeFrom(pod.DeepCopy())
		pod.Annotations[controlplane.FinishAfterAnnotation] = "1ms"
		if err := l.client.Patch(l.t.Context(), pod, before); err != nil {
			l.t.Fatal(err)
		}
	}
}

func TestTasksWithoutDrainKeepComponents(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery(tasks(finishAfter("100ms"))))
	pods := l.pods()
	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.Init = &v1alpha1.InitTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{Trigger: "reset-roles"}}
	})
	l.waitFor(sup, settled)
	l.checkPodsUnchanged(pods)
	l.history.checkTasks("migrate")
	if diff := cmp.Diff([]string{"init apache/superset:6.0.0"}, l.history.tasks(start)); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}

	// Users may set requiresDrain to false: then the pods roll.
	start = l.editAndGetRevision(sup, func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.Migrate = &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{RequiresDrain: new(false)}}
		image("6.1.0")(s)
	})
	l.waitFor(sup, settled)
	l.history.catchUp()
	if n := len(versions[*appsv1.Deployment](l.history, start, page)); n > 0 {
		t.Errorf("a maintenance page without a drain, in %d versions", n)
	}
	for _, v := range versions[*appsv1.Deployment](l.history, start, "lab-web-server") {
		if v.deleted {
			t.Error("the web server was removed although no task required a drain")
		}
	}
}
