package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

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
	const both = "Deletion is blocked: 2 engines use the class: a, b. Delete the engines, or change their class."
	if ready.Message != both || ready.Status != metav1.ConditionFalse {
		t.Errorf("Ready = %+v, want message %q", ready, both)
	}
	s.checkEvents(c, "Warning DeletionBlocked: "+both)

	s.remove(a)
	if ready := s.waitForReason(c, v1alpha1.ReasonDeletionBlocked, 1); ready.Message != "Deletion is blocked: 1 engine uses the class: b. Delete the engine, or change its class." {
		t.Errorf("Ready = %+v", ready)
	}
	s.requests.reset()
	expect.Never(t, short, func() error { // it waits for the watch and sends no requests
		if r := s.classRequests(false); len(r) > 0 {
			return fmt.Errorf("%s", strings.Join(r, ", "))
		}
		return nil
	})
	s.checkEvents(c, "Warning DeletionBlocked: "+both)
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
