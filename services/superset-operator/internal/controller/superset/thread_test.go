package superset_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// requestBudget is the maximum number of requests until a small Superset is Running.
const requestBudget = 40

func TestDevelopmentSampleRuns(t *testing.T) {
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	for _, kind := range []string{"Available", "Ready"} {
		if got := expect.Condition(t, e.client, sup, kind, metav1.ConditionTrue); got.Reason != "AllComponentsReady" {
			t.Errorf("%s has reason %s", kind, got.Reason)
		}
	}
	if diff := cmp.Diff(wantStatus(sup), sup.Status, cmp.FilterPath(variable, cmp.Ignore())); diff != "" {
		t.Errorf("status differs (-want +got):\n%s", diff)
	}
	var got []string
	for _, e := range sup.Status.Transitions {
		got = append(got, fmt.Sprintf("%d %s>%s %s", e.Seq, e.From, e.To, e.Reason))
	}
	want := []string{"1 >Initializing FirstDeployment", "2 Initializing>Running AllComponentsReady"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transitions differ (-want +got):\n%s", diff)
	}
	checkObjects(t, e, sup)

	if n := len(e.requests.list()); n > requestBudget {
		t.Errorf("%d requests, at most %d are allowed:\n%v", n, requestBudget, e.requests.list())
	} else {
		t.Logf("BENCH superset_requests_to_running %d requests", n)
	}
	before := len(e.requests.list())
	for range 3 {
		if _, err := e.reconciler.Reconcile(t.Context(), request(sup)); err != nil {
			t.Fatal(err)
		}
	}
	if after := e.requests.list(); len(after) != before {
		t.Errorf("a reconcile without changes sent requests: %v", after[before:])
	}
}

// variable reports whether a part of the status differs between runs.
func variable(p cmp.Path) bool {
	name := p.Last().String()
	return slices.Contains([]string{".Transitions", ".Conditions", ".StartedAt", ".CompletedAt", ".ConfigChecksum", ".DesiredChecksum", ".CompletedChecksum", ".LastCompletedChecksums", ".CompletedInputs", ".PodSpecHash"}, name)
}

func wantStatus(sup *v1alpha1.Superset) v1alpha1.SupersetStatus {
	const image = "apache/superset:6.0.0"
	task := func(name string) *v1alpha1.TaskRefStatus {
		return &v1alpha1.TaskRefStatus{State: "Complete", Ref: "Job/development-" + name, Attempts: 1, MaxRetries: 3, Image: image}
	}
	return v1alpha1.SupersetStatus{
		ObservedGeneration: sup.Generation, Phase: "Running", Version: "6.0.0", DeployedVersion: "6.0.0", Ready: "2/2", LastLifecycleImage: image,
		Components: &v1alpha1.ComponentsStatus{WebServer: &v1alpha1.ComponentRefStatus{
			Phase: "Ready", Ready: "2/2", Ref: "Deployment/development-web-server", Image: image,
			Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2,
			Resources: []v1alpha1.ResourceStatus{
				{Kind: "Deployment", Name: "development-web-server", Status: "Present"},
				{Kind: "Service", Name: "development-web-server", Status: "Present"},
				{Kind: "ConfigMap", Name: "development-web-server-config", Status: "Present"},
			},
		}},
		Lifecycle: &v1alpha1.LifecycleStatus{
			Phase: "Complete", ChecksumScheme: "flotilla.dev/v1", Migrate: task("migrate"), Init: task("init"),
			// A first installation needs no check.
			Preflight: &v1alpha1.TaskRefStatus{State: "Complete", Ref: "Job/development-preflight", MaxRetries: 3, Image: image},
		},
	}
}

func checkObjects(t *testing.T, e *env, sup *v1alpha1.Superset) {
	t.Helper()
	entry := sup.Status.Lifecycle.Migrate
	if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(entry.CompletedChecksum) || entry.CompletedChecksum != entry.DesiredChecksum {
		t.Errorf("checksums %q and %q", entry.DesiredChecksum, entry.CompletedChecksum)
	}
	if entry.StartedAt == nil || entry.CompletedAt == nil || entry.CompletedAt.Before(entry.StartedAt) {
		t.Errorf("times %v and %v", entry.StartedAt, entry.CompletedAt)
	}
	d := get(e, "development-web-server", &appsv1.Deployment{})
	if !metav1.IsControlledBy(d, sup) || d.Labels[v1alpha1.LabelParent] != sup.Name {
		t.Errorf("Deployment has owner %v and labels %v", d.OwnerReferences, d.Labels)
	}
	if d.Spec.Template.Annotations[v1alpha1.AnnotationConfigChecksum] != sup.Status.Components.WebServer.ConfigChecksum {
		t.Error("the checksums of the component and its pods differ")
	}
	get(e, "development-web-server", &corev1.Service{})
	get(e, "development", &corev1.ServiceAccount{})
	for _, name := range []string{"development-migrate", "development-init"} {
		expect.Deleted(t, e.client, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}})
	}
	// The observation may be older than the Service in the cache.
	expect.Eventually(t, timeout, func() error {
		o := e.reports.lastOf(sup.Name)
		if len(o.Units) != 1 || len(o.Jobs) != 3 || o.Phase != "Running" || o.DeployedVersion != "6.0.0" {
			return fmt.Errorf("observation %+v", o)
		}
		if u := o.Units[0]; u.Role != contract.Serving || !u.Routed || !u.Present || u.Available != 2 {
			return fmt.Errorf("unit %+v", u)
		}
		if o.ObservedGeneration != sup.Generation {
			return fmt.Errorf("generation %d of %d", o.ObservedGeneration, sup.Generation)
		}
		return nil
	})
}

func get[T client.Object](e *env, name string, obj T) T {
	e.t.Helper()
	if err := e.client.Get(e.t.Context(), client.ObjectKey{Namespace: e.namespace, Name: name}, obj); err != nil {
		e.t.Fatal(err)
	}
	return obj
}

func TestChangedImageStartsUpgrade(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	first := sup.Status.Lifecycle.Migrate.CompletedChecksum
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Image.Tag = "6.0.1" })
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	for _, entry := range []*v1alpha1.TaskRefStatus{sup.Status.Lifecycle.Migrate, sup.Status.Lifecycle.Init} {
		if entry.State != v1alpha1.TaskComplete || entry.Image != "apache/superset:6.0.1" || entry.Attempts != 1 {
			t.Errorf("task %+v", entry)
		}
	}
	if sup.Status.Lifecycle.Migrate.CompletedChecksum == first {
		t.Error("migrate did not run again")
	}
	if sup.Status.LastLifecycleImage != "apache/superset:6.0.1" || sup.Status.Version != "6.0.1" {
		t.Errorf("status has the versions %s and %s", sup.Status.LastLifecycleImage, sup.Status.Version)
	}
	var got []string
	for _, e := range sup.Status.Transitions {
		got = append(got, e.To)
	}
	if diff := cmp.Diff([]string{"Initializing", "Running", "Upgrading", "Running"}, got); diff != "" {
		t.Errorf("transitions differ (-want +got):\n%s", diff)
	}
}

func TestRemovedComponentIsDeleted(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml", func(s *v1alpha1.Superset) {
		s.Spec.CeleryWorker, s.Spec.CeleryBeat = &v1alpha1.CeleryWorkerSpec{}, &v1alpha1.CeleryBeatSpec{}
	}))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	if sup.Status.Ready != "4/4" {
		t.Errorf("ready %s", sup.Status.Ready)
	}
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryWorker = nil })
	expect.Deleted(t, e.client, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "development-celery-worker"}})
	expect.Deleted(t, e.client, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "development-celery-worker-config"}})
	e.waitFor(sup, func(s *v1alpha1.Superset) error {
		if s.Status.Components.CeleryWorker != nil || s.Status.Ready != "3/3" {
			return fmt.Errorf("status %s, worker %v", s.Status.Ready, s.Status.Components.CeleryWorker)
		}
		return nil
	})
}

func TestChangedStrategyIsApplied(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	for _, want := range []appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType} {
		e.edit(sup, func(s *v1alpha1.Superset) {
			s.Spec.WebServer.DeploymentTemplate = &v1alpha1.DeploymentTemplate{Strategy: &appsv1.DeploymentStrategy{Type: want}}
		})
		e.waitFor(sup, func(*v1alpha1.Superset) error {
			if got := get(e, "development-web-server", &appsv1.Deployment{}).Spec.Strategy.Type; got != want {
				return fmt.Errorf("strategy %s", got)
			}
			return nil
		})
	}
}

func TestForeignServiceAccountIsNotAdopted(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "development"}}
	if err := e.client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	sup := e.create(e.sample("development.yaml"))
	got := expect.Condition(t, e.client, sup, "Degraded", metav1.ConditionTrue)
	if !regexp.MustCompile(`serviceAccount\.create`).MatchString(got.Message) {
		t.Errorf("condition %+v", got)
	}
	if now := get(e, "development", &corev1.ServiceAccount{}); len(now.OwnerReferences) > 0 || len(now.Labels) > 0 {
		t.Errorf("the account was changed: %+v", now.ObjectMeta)
	}
}
