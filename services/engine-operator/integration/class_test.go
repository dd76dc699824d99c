package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/class"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// newEnvWithoutInstance returns a namespace with an operator and without an instance: its engines wait, which
// does not matter to their classes.
func newEnvWithoutInstance(t *testing.T) *testEnv {
	t.Helper()
	s := &testEnv{api: apiServer(t)}
	s.operator = start(t, cluster.Get(t).Namespace(t))
	return s
}

func classOf(name string) *v1alpha1.FireboltEngineClass {
	c := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Template = *template("example.com/engine:1.0")
	return c
}

func boundEngine(name, class string) *v1alpha1.FireboltEngine {
	e := engineOf(name, 1)
	e.Spec.EngineClassRef = new(class)
	return e
}

// waitForReason waits until the class has the reason and the number of engines.
func (s *testEnv) waitForReason(c *v1alpha1.FireboltEngineClass, reason string, engines int32) metav1.Condition {
	s.t.Helper()
	var ready metav1.Condition
	expect.Object(s.t, s.api, c, func(c *v1alpha1.FireboltEngineClass) error {
		found := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
		if found == nil || found.Reason != reason || c.Status.BoundEngines != engines {
			return fmt.Errorf("%d engines, Ready = %+v", c.Status.BoundEngines, found)
		}
		if c.Status.ObservedGeneration != c.Generation || found.ObservedGeneration != c.Generation {
			return fmt.Errorf("status observed generation %d, Ready %d, want %d", c.Status.ObservedGeneration, found.ObservedGeneration, c.Generation)
		}
		ready = *found
		return nil
	})
	return ready
}

// editClass changes a class as a user would.
func (s *testEnv) editClass(c *v1alpha1.FireboltEngineClass, change func(*v1alpha1.FireboltEngineClass)) {
	s.t.Helper()
	if err := s.api.Get(s.t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		s.t.Fatal(err)
	}
	before := c.DeepCopy()
	change(c)
	if err := s.api.Patch(s.t.Context(), c, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// checkEvents waits for the events about a class, and compares their reasons and prefixes.
func (s *testEnv) checkEvents(c *v1alpha1.FireboltEngineClass, want ...string) {
	s.t.Helper()
	expect.Eventually(s.t, expect.Long, func() error {
		var list eventsv1.EventList
		if err := s.api.List(s.t.Context(), &list, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		var got []string
		for _, e := range list.Items {
			if e.Regarding.UID == c.UID {
				got = append(got, e.Type+" "+e.Reason+": "+e.Note)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("events (-want +got):\n%s", diff)
		}
		return nil
	})
}

// classRequests returns the operator's requests for classes; with writes only those that change an object.
func (s *testEnv) classRequests(writes bool) []string {
	return slices.DeleteFunc(s.requests.list(writes), func(r string) bool { return !strings.Contains(r, "/fireboltengineclasses/") })
}

func TestClassCountsBoundEngines(t *testing.T) {
	t.Parallel()
	s := newEnvWithoutInstance(t)
	c, d := classOf("c"), classOf("d")
	s.create(c)
	s.create(d)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	a, b := boundEngine("a", "c"), boundEngine("b", "c")
	s.create(a)
	s.create(b)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 2)
	s.edit(a, func(e *v1alpha1.FireboltEngine) { e.Spec.EngineClassRef = new("d") })
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 1)
	s.waitForReason(d, v1alpha1.ReasonAdmissible, 1)
	s.edit(b, func(e *v1alpha1.FireboltEngine) { e.Spec.EngineClassRef = nil })
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	s.remove(a)
	s.waitForReason(d, v1alpha1.ReasonAdmissible, 0)
	if ready := s.waitForReason(d, v1alpha1.ReasonAdmissible, 0); ready.Status != metav1.ConditionTrue {
		t.Errorf("Ready = %+v", ready)
	}
	s.checkEvents(c)
}

func TestTerminatingClassWaitsForLastEngine(t *testing.T) {
	t.Parallel()
	s := newEnvWithoutInstance(t)
	c := classOf("c")
	s.create(c)
	a, b := boundEngine("a", "c"), boundEngine("b", "c")
	s.create(a)
	s.create(b)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 2)
	s.remove(c)
	ready := s.waitForReason(c, v1alpha1.ReasonDeletionBlocked, 2)
	const text = "Deletion is blocked: "
	if want := text + "2 engines use the class: a, b."; ready.Message != want || ready.Status != metav1.ConditionFalse {
		t.Errorf("Ready = %+v, want message %q", ready, want)
	}
	s.checkEvents(c, "Warning DeletionBlocked: "+text+"2 engines use the class: a, b.")

	s.remove(a)
	if ready := s.waitForReason(c, v1alpha1.ReasonDeletionBlocked, 1); ready.Message != text+"1 engine uses the class: b." {
		t.Errorf("Ready = %+v", ready)
	}
	s.requests.reset()
	expect.Never(t, short, func() error { // it waits for the watch and sends no requests
		if r := s.classRequests(false); len(r) > 0 {
			return fmt.Errorf("%s", strings.Join(r, ", "))
		}
		return nil
	})
	s.checkEvents(c, "Warning DeletionBlocked: "+text+"2 engines use the class: a, b.")
	s.edit(b, func(e *v1alpha1.FireboltEngine) { e.Spec.EngineClassRef = nil })
	expect.Deleted(t, s.api, c)
}

func TestTerminatingClassIsReleasedAfterRestart(t *testing.T) {
	t.Parallel()
	s := newEnvWithoutInstance(t)
	c, a := classOf("c"), boundEngine("a", "c")
	s.create(c)
	s.create(a)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 1)
	s.remove(c)
	s.waitForReason(c, v1alpha1.ReasonDeletionBlocked, 1)
	s.stopAndWait()
	s.edit(a, func(e *v1alpha1.FireboltEngine) { e.Spec.EngineClassRef = nil })
	s.run()
	expect.Deleted(t, s.api, c)
}

// A class that a foreign finalizer holds never gets our finalizer again: the API server would
// reject every attempt.
func TestDefect3TerminatingClassGetsNoFinalizer(t *testing.T) {
	t.Parallel()
	s := newEnvWithoutInstance(t)
	cachedClass := classOf("seen")
	cachedClass.Finalizers = []string{"example.com/keep"}
	s.create(cachedClass)
	s.waitForReason(cachedClass, v1alpha1.ReasonAdmissible, 0)
	if !slices.Contains(cachedClass.Finalizers, v1alpha1.ClassFinalizer) {
		t.Fatalf("finalizers = %v", cachedClass.Finalizers)
	}
	s.remove(cachedClass)
	s.checkFinalizers(cachedClass, "example.com/keep")

	s.stopAndWait()
	uncachedClass := classOf("unseen")
	uncachedClass.Finalizers = []string{"example.com/keep"}
	s.create(uncachedClass)
	s.remove(uncachedClass)
	s.requests.reset()
	s.run()
	last := classOf("last")
	s.create(last)
	s.waitForReason(last, v1alpha1.ReasonAdmissible, 0)
	for _, c := range []*v1alpha1.FireboltEngineClass{cachedClass, uncachedClass} {
		s.checkFinalizers(c, "example.com/keep")
		if w := slices.DeleteFunc(s.classRequests(true), func(r string) bool { return !strings.Contains(r, "/"+c.Name) }); len(w) > 0 {
			t.Errorf("written to class %s: %v", c.Name, w)
		}
		s.editClass(c, func(c *v1alpha1.FireboltEngineClass) { c.Finalizers = nil })
		expect.Deleted(t, s.api, c)
	}
}

func (s *testEnv) checkFinalizers(c *v1alpha1.FireboltEngineClass, finalizer string) {
	s.t.Helper()
	expect.Object(s.t, s.api, c, func(c *v1alpha1.FireboltEngineClass) error {
		if !slices.Equal(c.Finalizers, []string{finalizer}) {
			return fmt.Errorf("finalizers = %v", c.Finalizers)
		}
		return nil
	})
}

func TestRejectedClassListsAllPathsUntilFixed(t *testing.T) {
	t.Parallel()
	s := newEnvWithoutInstance(t)
	c := classOf("c")
	c.Spec.Template.Spec.HostNetwork = true
	c.Spec.Template.Spec.HostPID = true
	c.Spec.Template.Spec.Containers[0].Command = []string{"sleep"}
	c.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "shop-auth-signing"}}}}
	s.create(c)
	s.create(boundEngine("a", "c"))
	ready := s.waitForReason(c, v1alpha1.ReasonOperatorOwnedFieldSet, 1)
	if want := validation.Message(validation.Class(c)); ready.Message != want {
		t.Errorf("message = %q, want %q", ready.Message, want)
	}
	for _, path := range []string{"spec.hostNetwork", "spec.hostPID", "spec.containers[engine].command", "spec.volumes[v].secret.secretName"} {
		if !strings.Contains(ready.Message, "spec.template."+path) {
			t.Errorf("message %q does not name %s", ready.Message, path)
		}
	}
	first := "Warning OperatorOwnedFieldSet: " + ready.Message
	s.checkEvents(c, first)
	s.editClass(c, func(c *v1alpha1.FireboltEngineClass) {
		c.Spec.Template.Spec = corev1.PodSpec{Containers: c.Spec.Template.Spec.Containers[:1], Subdomain: "x"}
	})
	expect.Object(t, s.api, c, func(c *v1alpha1.FireboltEngineClass) error {
		if ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); ready == nil || strings.Contains(ready.Message, "hostNetwork") || !strings.Contains(ready.Message, "subdomain") {
			return fmt.Errorf("Ready = %+v", ready)
		}
		return nil
	})
	s.checkEvents(c, first, "Warning OperatorOwnedFieldSet: "+s.waitForReason(c, v1alpha1.ReasonOperatorOwnedFieldSet, 1).Message)
	s.editClass(c, func(c *v1alpha1.FireboltEngineClass) {
		c.Spec.Template.Spec.Subdomain, c.Spec.Template.Spec.Containers[0].Command = "", nil
	})
	if ready := s.waitForReason(c, v1alpha1.ReasonAdmissible, 1); ready.Status != metav1.ConditionTrue {
		t.Errorf("Ready = %+v", ready)
	}
}

// A class has no instance, so each engine that uses it checks the Secrets.
func TestEngineRejectsInstanceSecretFromClass(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t) // the Secret "db" has the database credentials
	c := classOf("c")
	c.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "db"}}}}
	s.create(c)
	e := boundEngine("a", "c")
	s.create(e)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 1)
	ready := waitReason(t, s, e, v1alpha1.ReasonTemplateRejected)
	want := `spec.template.spec.volumes[v].secret.secretName: the Secret is managed by the operator or used by the instance and must not be exposed (inherited from FireboltEngineClass "c").`
	if ready.Message != want {
		t.Errorf("message = %q, want %q", ready.Message, want)
	}
	if got := s.children(e); len(got) > 0 {
		t.Errorf("created objects: %v", got)
	}
}

func TestUnchangedClassIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newEnvWithoutInstance(t)
	validClass, invalidClass := classOf("good"), classOf("bad")
	invalidClass.Spec.Template.Spec.HostPID = true
	for _, c := range []*v1alpha1.FireboltEngineClass{validClass, invalidClass} {
		s.create(c)
	}
	s.create(boundEngine("a", "good"))
	s.waitForReason(validClass, v1alpha1.ReasonAdmissible, 1)
	s.waitForReason(invalidClass, v1alpha1.ReasonOperatorOwnedFieldSet, 0)
	s.stopAndWait()
	s.requests.reset()
	s.run()
	last := classOf("last") // its status shows that the restarted operator reconciles
	s.create(last)
	s.waitForReason(last, v1alpha1.ReasonAdmissible, 0)
	expect.Never(t, short, func() error {
		w := slices.DeleteFunc(s.classRequests(true), func(r string) bool { return strings.Contains(r, "/last") })
		if len(w) > 0 {
			return fmt.Errorf("%s", strings.Join(w, ", "))
		}
		return nil
	})
}

// staleClassClient is a stale cache: it lacks the latest engines and returns an old version of a class.
type staleClassClient struct {
	client.Client
	class *v1alpha1.FireboltEngineClass
}

func (b staleClassClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if c, ok := into.(*v1alpha1.FireboltEngineClass); ok && b.class != nil {
		b.class.DeepCopyInto(c)
		return nil
	}
	return b.Client.Get(ctx, key, into, opts...)
}

func (b staleClassClient) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return nil
}

// reconcileStale runs one reconcile of a class controller with a stale cache.
func (s *testEnv) reconcileStale(c *v1alpha1.FireboltEngineClass, cached *v1alpha1.FireboltEngineClass) ctrl.Result {
	s.t.Helper()
	result, err := class.New(class.Config{
		Client: staleClassClient{s.api, cached}, APIReader: s.api, Recorder: events.NewFakeRecorder(10), Clock: clock.RealClock{},
	}).Reconcile(s.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(c)})
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

// An engine that the cache does not have yet also holds its class.
func TestClassDeletionUsesAPIReader(t *testing.T) {
	t.Parallel()
	s := &testEnv{operator: &operator{t: t, namespace: cluster.Get(t).Namespace(t)}, api: apiServer(t)}
	c := classOf("c")
	s.create(c)
	s.reconcileStale(c, nil)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	a := boundEngine("a", "c")
	s.create(a)
	s.remove(c)
	s.reconcileStale(c, nil)
	s.waitForReason(c, v1alpha1.ReasonDeletionBlocked, 1)
	s.remove(a)
	s.reconcileStale(c, nil)
	expect.Deleted(t, s.api, c)
}

// A decision from an old version of the class is never written; it is made again, without an error.
func TestStaleClassIsReconciledAgain(t *testing.T) {
	t.Parallel()
	s := &testEnv{operator: &operator{t: t, namespace: cluster.Get(t).Namespace(t)}, api: apiServer(t)}
	c := classOf("c")
	s.create(c)
	old := c.DeepCopy()
	s.editClass(c, func(c *v1alpha1.FireboltEngineClass) { c.Finalizers = []string{"example.com/keep"} })
	if result := s.reconcileStale(c, old); result.RequeueAfter == 0 {
		t.Errorf("without the finalizer: %+v, want another try", result)
	}
	s.checkFinalizers(c, "example.com/keep")
	s.reconcileStale(c, nil)
	s.waitForReason(c, v1alpha1.ReasonAdmissible, 0)
	old = c.DeepCopy()
	s.editClass(c, func(c *v1alpha1.FireboltEngineClass) { c.Spec.Template.Spec.HostIPC = true })
	old.Status = v1alpha1.FireboltEngineClassStatus{}
	old.ManagedFields = nil
	if result := s.reconcileStale(c, old); result.RequeueAfter == 0 {
		t.Errorf("with an old spec: %+v, want another try", result)
	}
	s.reconcileStale(c, nil)
	s.waitForReason(c, v1alpha1.ReasonOperatorOwnedFieldSet, 0)
}
