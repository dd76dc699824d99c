package superset_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// legacyManager is the field manager of the updates of the legacy operator.
const legacyManager = client.FieldOwner("manager")

// createLegacy creates the objects of a legacy operator, and waits until its pods run.
func createLegacy(e *env, edit ...func(*v1alpha1.Superset)) *v1alpha1.Superset {
	e.t.Helper()
	sup := parse[v1alpha1.Superset](e.t, "testdata/takeover/superset.yaml")
	sup.Namespace = e.namespace
	for _, e := range edit {
		e(sup)
	}
	ctx := e.t.Context()
	if err := e.client.Create(ctx, sup, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		e.t.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/takeover/objects.yaml")
	if err != nil {
		e.t.Fatal(err)
	}
	for doc := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &obj.Object); err != nil {
			e.t.Fatal(err)
		}
		obj.SetNamespace(e.namespace)
		if err := controllerutil.SetControllerReference(sup, obj, e.client.Scheme()); err != nil {
			e.t.Fatal(err)
		}
		if err := e.client.Create(ctx, obj, legacyManager); err != nil {
			e.t.Fatalf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		}
	}
	status := parse[v1alpha1.SupersetStatus](e.t, "testdata/takeover/status.yaml")
	sup.Status = *status
	if err := e.client.Status().Update(ctx, sup, &client.SubResourceUpdateOptions{UpdateOptions: *(&client.UpdateOptions{}).ApplyOptions([]client.UpdateOption{legacyManager})}); err != nil {
		e.t.Fatal(err)
	}
	expect.Eventually(e.t, timeout, func() error {
		var list appsv1.DeploymentList
		if err := e.client.List(ctx, &list, client.InNamespace(e.namespace)); err != nil {
			return err
		}
		for _, d := range list.Items {
			if d.Status.AvailableReplicas != *d.Spec.Replicas || d.Status.ObservedGeneration != d.Generation {
				return fmt.Errorf("%s: %d available", d.Name, d.Status.AvailableReplicas)
			}
		}
		return nil
	})
	return sup
}

// adopted starts an operator with the objects of a legacy one, and waits until it has adopted them.
func adopted(t *testing.T, edit ...func(*v1alpha1.Superset)) (*recordedEnv, *v1alpha1.Superset, map[string]string) {
	t.Helper()
	var sup *v1alpha1.Superset
	var before map[string]string
	l := newParallelEnv(t, options{before: func(e *env) {
		sup = createLegacy(e, edit...)
		before = workloads(e)
	}})
	l.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
		if s.Status.Lifecycle.ChecksumScheme == "" {
			return fmt.Errorf("not adopted yet: %+v", s.Status.Lifecycle)
		}
		return nil
	}))
	return l, sup, before
}

// workloads lists Deployments with their generations, and pods with their UIDs.
func workloads(e *env) map[string]string {
	e.t.Helper()
	out := map[string]string{}
	var list appsv1.DeploymentList
	if err := e.client.List(e.t.Context(), &list, client.InNamespace(e.namespace)); err != nil {
		e.t.Fatal(err)
	}
	for _, d := range list.Items {
		out[d.Name] = fmt.Sprintf("%s generation %d", d.UID, d.Generation)
	}
	for i, p := range (&recordedEnv{env: e}).pods() {
		out[fmt.Sprint("pod ", i)] = p
	}
	return out
}

func TestAdoptionRunsNoTaskAndRestartsNoPod(t *testing.T) {
	l, sup, before := adopted(t)
	expect.Never(t, 2*time.Second, func() error {
		if diff := cmp.Diff(before, workloads(l.env)); diff != "" {
			return fmt.Errorf("workloads differ (-before +after):\n%s", diff)
		}
		return nil
	})
	l.history.checkTasks()
	if started := l.history.tasks(0); len(started) > 0 {
		t.Errorf("%v ran", started)
	}
	l.waitFor(sup, settled)
	l.checkConditions(sup)
	lc := sup.Status.Lifecycle
	for _, kind := range []string{"clone", "migrate", "init"} {
		if entry := entryOf(sup, kind); entry.State != v1alpha1.TaskComplete || entry.CompletedChecksum != entry.DesiredChecksum || entry.Ref != "Job/lab-"+kind {
			t.Errorf("task %s: %+v", kind, entry)
		}
	}
	if lc.Phase != v1alpha1.LifecycleComplete || sup.Status.Ready != "6/6" || sup.Status.Components.WebServer.Ref != "Deployment/lab-web-server" {
		t.Errorf("status %+v", sup.Status)
	}
	for key := range l.events() {
		if strings.HasPrefix(key, "Warning") || strings.HasPrefix(key, "Normal Task") {
			t.Errorf("event %s", key)
		}
	}
	// The legacy operator owns no field, or the field would remain when this operator no longer sets it.
	objects := []client.Object{sup}
	for _, slug := range []string{"web-server", "celery-worker", "celery-beat", "websocket-server"} {
		objects = append(objects, l.deployment(slug))
	}
	for _, obj := range objects {
		managed := slices.ContainsFunc(obj.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == string(legacyManager) })
		if managed {
			t.Errorf("%T %s still has fields of %q", obj, obj.GetName(), legacyManager)
		}
	}
}

func TestAdoptionKeepsConfigAndImageChangesWorking(t *testing.T) {
	l, sup, before := adopted(t)
	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { s.Spec.WebServer.Config = new("SUPERSET_WEBSERVER_TIMEOUT = 61") })
	l.waitFor(sup, settled)
	l.waitRolledOut("web-server", func(d *appsv1.Deployment) error {
		if fmt.Sprintf("%s generation %d", d.UID, d.Generation) == before[d.Name] {
			return fmt.Errorf("not rolled out yet")
		}
		return nil
	})
	if text := get(l.env, "lab-web-server-config", configMap()).Data["superset_config.py"]; !strings.Contains(text, "SUPERSET_WEBSERVER_TIMEOUT = 61") {
		t.Errorf("configuration:\n%s", text)
	}
	for _, slug := range []string{"celery-worker", "websocket-server"} {
		if d := l.deployment(slug); fmt.Sprintf("%s generation %d", d.UID, d.Generation) != before[d.Name] {
			t.Errorf("%s was rolled out too", d.Name)
		}
	}
	l.history.catchUp()
	if started := l.history.tasks(start); len(started) > 0 {
		t.Errorf("a change of one component ran %v", started)
	}

	start = l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Clone.Disabled = new(true); image("6.1.0")(s) })
	l.waitFor(sup, all(settled, func(s *v1alpha1.Superset) error {
		if s.Status.LastLifecycleImage != "apache/superset:6.1.0" {
			return fmt.Errorf("image %s", s.Status.LastLifecycleImage)
		}
		return nil
	}))
	l.history.checkTasks("migrate")
	if diff := cmp.Diff([]string{"preflight apache/superset:6.1.0", "migrate apache/superset:6.1.0", "init apache/superset:6.1.0"}, l.history.tasks(start)); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
	for _, slug := range []string{"web-server", "celery-worker", "celery-beat"} {
		if d := l.deployment(slug); runningImage(d) != "apache/superset:6.1.0" {
			t.Errorf("%s runs %s", d.Name, runningImage(d))
		}
	}
	if got := l.deployment("celery-beat").Spec.Strategy.Type; got != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("the new scheduler has strategy %s", got)
	}
}

// TestAwaitingApprovalKeepsAdoption changes the image of an adopted installation, which waits for an approval, and reverts
// the change: no Deployment changes and no pod restarts.
func TestAwaitingApprovalKeepsAdoption(t *testing.T) {
	l, sup, before := adopted(t, supervised)
	checkUnchanged := func() {
		t.Helper()
		expect.Never(t, time.Second, func() error {
			if diff := cmp.Diff(before, workloads(l.env)); diff != "" {
				return fmt.Errorf("workloads differ (-before +after):\n%s", diff)
			}
			return nil
		})
	}
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Clone.Disabled = new(true); image("6.1.0")(s) })
	l.waitAwaitingApproval(sup, "6.1.0")
	checkUnchanged()
	l.edit(sup, image("6.0.0"))
	l.waitFor(sup, settled)
	checkUnchanged()
}

// TestCrashDuringEditEndsAdoption crashes the operator after each write of an edit of an adopted installation: once the edit
// has reached a Deployment, no status calls that one adopted, or a revert of the edit would keep its pods.
func TestCrashDuringEditEndsAdoption(t *testing.T) {
	t.Parallel()
	injector := newCrashInjector()
	var sup *v1alpha1.Superset
	l := newRecordedEnv(t, options{idle: true, wrap: injector.next(math.MaxInt), before: func(e *env) { sup = createLegacy(e) }})
	reconcileUntil := func(writes int, done func() error) {
		t.Helper()
		expect.Eventually(t, timeout, func() error {
			_, err := l.reconciler.Reconcile(t.Context(), request(sup))
			if errors.Is(err, errCrash) {
				l.reconciler = l.process(injector.next(writes))
			} else if err != nil {
				return err
			}
			if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(sup), sup); err != nil {
				return err
			}
			return done()
		})
	}
	reconcileUntil(math.MaxInt, func() error {
		if entry := sup.Status.Components.WebServer; entry == nil || entry.AdoptedSpec == "" {
			return fmt.Errorf("not adopted yet: %+v", entry)
		}
		return settled(sup)
	})
	adopted := l.deployment("web-server").Spec.Template
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.WebServer.Config = new("SUPERSET_WEBSERVER_TIMEOUT = 61") })
	l.reconciler = l.process(injector.next(1))
	reconcileUntil(1, func() error {
		changed := !equality.Semantic.DeepEqual(adopted, l.deployment("web-server").Spec.Template)
		if entry := sup.Status.Components.WebServer; changed && entry.AdoptedSpec != "" {
			t.Fatalf("the Deployment has the edit, and the status calls it adopted: %+v", entry)
		}
		if !changed {
			return errors.New("the Deployment does not have the edit yet")
		}
		return settled(sup)
	})
}

func TestAdoptionWithCloneDropsNothing(t *testing.T) {
	l, sup, _ := adopted(t)
	for _, change := range []func(*v1alpha1.Superset){
		func(s *v1alpha1.Superset) { s.Spec.Config = new("ROW_LIMIT = 6000") },
		func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Clone.Disabled = new(true) },
		func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Clone.Disabled = nil },
		func(s *v1alpha1.Superset) { s.Spec.ForceReload = "now" },
	} {
		l.edit(sup, change)
		l.waitFor(sup, settled)
	}
	l.history.checkTasks("migrate")
	if started := taskNames(l.history.tasks(0)); slices.Contains(started, "clone") || slices.Contains(started, "migrate") {
		t.Errorf("ran %v", started)
	}
}
