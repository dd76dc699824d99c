package superset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

func TestInstallWithAllFeatures(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full(tasks(finishAfter("200ms"))))
	l.history.checkTasks("migrate", "init")
	l.checkWebServerFirst(0)
	if diff := cmp.Diff(fullStatus(sup), sup.Status, cmp.FilterPath(variable, cmp.Ignore())); diff != "" {
		t.Errorf("status differs (-want +got):\n%s", diff)
	}
	l.checkConditions(sup)
	checkInventory(t, l, sup)

	phases := sequence(l.history, 0, "lab", func(s *v1alpha1.Superset) string { return string(s.Status.Phase) })
	if diff := cmp.Diff([]string{"Initializing", "Running"}, slices.DeleteFunc(phases, isDegraded)); diff != "" {
		t.Errorf("phases differ (-want +got):\n%s", diff)
	}
	steps := sequence(l.history, 0, "lab", func(s *v1alpha1.Superset) string {
		if s.Status.Lifecycle == nil {
			return ""
		}
		return string(s.Status.Lifecycle.Phase)
	})
	if diff := cmp.Diff([]string{"Migrating", "Initializing", "Restoring", "Complete"}, steps); diff != "" {
		t.Errorf("lifecycle phases differ (-want +got):\n%s", diff)
	}
	l.waitEvents(map[string]int{"Normal LifecycleStarted": 1, "Normal TaskStarted": 2, "Normal TaskSucceeded": 2, "Normal LifecycleComplete": 1})
	for key, n := range l.events() {
		if strings.HasPrefix(key, "Warning") || strings.Contains(key, "Drain") || strings.Contains(key, "Maintenance") {
			t.Errorf("%d events %s on a first install", n, key)
		}
	}
}

func isDegraded(phase string) bool { return phase == string(v1alpha1.PhaseDegraded) }

// fullStatus is the expected status of testdata/full.yaml.
func fullStatus(sup *v1alpha1.Superset) v1alpha1.SupersetStatus {
	const image, websocket = "apache/superset:6.0.0", "apache/superset-websocket:6.0.0"
	part := func(name, image string, n int32, kinds ...string) *v1alpha1.ComponentRefStatus {
		out := &v1alpha1.ComponentRefStatus{
			Phase: "Ready", Ready: fmt.Sprintf("%d/%d", n, n), Ref: "Deployment/lab-" + name, Image: image,
			Replicas: n, ReadyReplicas: n, UpdatedReplicas: n, AvailableReplicas: n,
		}
		for _, kind := range kinds {
			object := "lab-" + name
			if kind == "ConfigMap" {
				object += "-config"
			}
			out.Resources = append(out.Resources, v1alpha1.ResourceStatus{Kind: kind, Name: object, Status: "Present"})
		}
		return out
	}
	done := func(name string) *v1alpha1.TaskRefStatus {
		return &v1alpha1.TaskRefStatus{State: "Complete", Ref: "Job/lab-" + name, Attempts: 1, MaxRetries: 3, Image: image}
	}
	worker := part("celery-worker", image, 1, "Deployment", "ConfigMap", "HorizontalPodAutoscaler", "PodDisruptionBudget")
	worker.LastReplicas = 1
	return v1alpha1.SupersetStatus{
		ObservedGeneration: sup.Generation, Phase: "Running", Version: "6.0.0", DeployedVersion: "6.0.0", Ready: "7/7", LastLifecycleImage: image,
		Components: &v1alpha1.ComponentsStatus{
			WebServer:       part("web-server", image, 2, "Deployment", "Service", "ConfigMap", "PodDisruptionBudget"),
			CeleryWorker:    worker,
			CeleryBeat:      part("celery-beat", image, 1, "Deployment", "ConfigMap"),
			CeleryFlower:    part("celery-flower", image, 1, "Deployment", "Service", "ConfigMap", "PodDisruptionBudget"),
			WebsocketServer: part("websocket-server", websocket, 1, "Deployment", "Service", "PodDisruptionBudget"),
			MCPServer:       part("mcp-server", image, 1, "Deployment", "Service", "ConfigMap", "PodDisruptionBudget"),
		},
		Lifecycle: &v1alpha1.LifecycleStatus{
			Phase: "Complete", ChecksumScheme: "flotilla.dev/v1", Migrate: done("migrate"), Init: done("init"),
			// A first installation needs no check.
			Preflight: &v1alpha1.TaskRefStatus{State: "Complete", Ref: "Job/lab-preflight", MaxRetries: 3, Image: image},
		},
	}
}

// checkConditions waits for all conditions of a Superset at rest. The six shared conditions are written separately,
// after the other status fields.
func (l *recordedEnv) checkConditions(sup *v1alpha1.Superset) {
	l.t.Helper()
	want := map[string]string{
		"Available": "True AllComponentsReady", "LifecycleComplete": "True LifecycleComplete", "Suspended": "False NotSuspended",
		"Ready": "True", "Progressing": "False", "Degraded": "False", "Paused": "False", "Stopped": "False", "Upgradable": "True",
	}
	l.waitFor(sup, func(sup *v1alpha1.Superset) error {
		for kind, prefix := range want {
			c := meta.FindStatusCondition(sup.Status.Conditions, kind)
			if c == nil || c.ObservedGeneration != sup.Generation || !strings.HasPrefix(string(c.Status)+" "+c.Reason, prefix) {
				return fmt.Errorf("condition %s is %+v, want %s at generation %d", kind, c, prefix, sup.Generation)
			}
		}
		return nil
	})
}

// checkInventory compares the existing objects and their owners with the expected ones.
func checkInventory(t *testing.T, l *recordedEnv, sup *v1alpha1.Superset) {
	t.Helper()
	slugs := []string{"celery-beat", "celery-flower", "celery-worker", "mcp-server", "web-server", "websocket-server"}
	names := func(excluded string, suffix string) []string {
		var out []string
		for _, w := range slugs {
			if !slices.Contains(strings.Fields(excluded), w) {
				out = append(out, "lab-"+w+suffix)
			}
		}
		return out
	}
	cases := map[client.ObjectList][]string{
		&appsv1.DeploymentList{}:                     names("", ""),
		&corev1.ServiceList{}:                        names("celery-worker celery-beat", ""),
		&corev1.ServiceAccountList{}:                 {"lab"},
		&batchv1.JobList{}:                           nil,
		&policyv1.PodDisruptionBudgetList{}:          names("celery-beat", ""),
		&autoscalingv2.HorizontalPodAutoscalerList{}: {"lab-celery-worker"},
		&networkingv1.NetworkPolicyList{}:            names("", "-netpol"),
		&networkingv1.IngressList{}:                  {"lab"},
		&corev1.ConfigMapList{}:                      append(names("websocket-server", "-config"), "lab-init-config", "lab-migrate-config"),
	}
	for list, want := range cases {
		var got []string
		for _, obj := range l.owned(list, sup) {
			got = append(got, obj.GetName())
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T differs (-want +got):\n%s", list, diff)
		}
	}
}

// owned lists the objects that the Superset controls, and checks their labels.
func (l *recordedEnv) owned(list client.ObjectList, sup *v1alpha1.Superset) []client.Object {
	l.t.Helper()
	if err := l.client.List(l.t.Context(), list, client.InNamespace(l.namespace)); err != nil {
		l.t.Fatal(err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		l.t.Fatal(err)
	}
	var out []client.Object
	for _, item := range items {
		obj, ok := item.(client.Object)
		if !ok || !metav1.IsControlledBy(obj, sup) {
			continue
		}
		out = append(out, obj)
		labels := obj.GetLabels()
		if labels[v1alpha1.LabelName] != v1alpha1.NameValue || labels[v1alpha1.LabelParent] != sup.Name {
			l.t.Errorf("%T %s has labels %v", obj, obj.GetName(), labels)
		}
	}
	return out
}

// TestW15W21IdleSupersetMakesNoRequests also covers W15: a second process, without in-memory state and with its own cache,
// changes nothing.
func TestW15W21IdleSupersetMakesNoRequests(t *testing.T) {
	l := newParallelEnv(t, options{idle: true})
	sup := l.create(full()(l.env))
	l.reconcileUntil(sup, nil, settled)
	l.edit(sup, image("6.0.1"))
	l.reconcileUntil(sup, nil, settled)
	l.waitIdle(sup)
	events := l.events()
	before := len(l.requests.list())
	for range 2 {
		for range 3 {
			if _, err := l.reconciler.Reconcile(t.Context(), request(sup)); err != nil {
				t.Fatal(err)
			}
		}
		l.operator()
	}
	if after := l.requests.list(); len(after) != before {
		t.Errorf("idle reconciles sent requests: %v", after[before:])
	}
	if diff := cmp.Diff(events, l.events()); diff != "" {
		t.Errorf("idle reconciles emitted events (-want +got):\n%s", diff)
	}
}

func TestW8SchedulersNeverOverlap(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal(func(s *v1alpha1.Superset) { s.Spec.CeleryBeat = &v1alpha1.CeleryBeatSpec{} }))
	if got := l.deployment("celery-beat").Spec.Strategy.Type; got != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("strategy %s", got)
	}
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryBeat.Config = new("BEAT = 1") })
	l.waitFor(sup, settled)
	l.history.catchUp()
	var schedulers []podLifetime
	for _, p := range l.history.podLifetimes() {
		if p.component == "celery-beat" {
			schedulers = append(schedulers, p)
		}
	}
	if len(schedulers) != 2 || schedulers[0].deleted > schedulers[1].start {
		t.Errorf("two schedulers ran at the same time: %+v", schedulers)
	}
}

func TestW16BlockingOwnerReferencesAreAllowed(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal())
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: account, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: l.namespace, Verb: "update", Group: v1alpha1.GroupVersion.Group, Resource: "supersets", Subresource: "finalizers",
		},
	}}
	if err := l.client.Create(t.Context(), review); err != nil || !review.Status.Allowed {
		t.Errorf("the operator may not set finalizers of Supersets: %+v, %v", review.Status, err)
	}
	owner := metav1.GetControllerOf(l.deployment("web-server"))
	if owner == nil || owner.UID != sup.UID || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		t.Errorf("owner %+v", owner)
	}
}

func TestDeletionDuringUpgradeLeavesNothing(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full())
	l.edit(sup, func(s *v1alpha1.Superset) {
		disablePreflight(s)
		tasks(finishAfter("1h"))(s)
		image("6.1.0")(s)
	})
	l.waitFor(sup, all(lifecyclePhase(v1alpha1.LifecycleMigrating), task("migrate", v1alpha1.TaskRunning, 1)))
	if err := l.client.Delete(t.Context(), sup); err != nil {
		t.Fatal(err)
	}
	l.waitDeleted(sup)
}
