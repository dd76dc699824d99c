package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
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
	if want := validation.Message(validation.Class(c)) + " Correct the class."; ready.Message != want {
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
	want := `spec.template.spec.volumes[v].secret.secretName: the Secret is managed by the operator or used by the instance and must not be exposed (inherited from FireboltEngineClass "c"). Correct the engine or its class.`
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
