//go:build long

package stack_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

type kindOf = schema.GroupVersionKind

// reports returns a check that an object has the wanted conditions, each in the form Type=Status or Type=Status/Reason.
func reports(wanted ...string) func(*unstructured.Unstructured) error {
	return func(obj *unstructured.Unstructured) error {
		conditions, err := expect.Conditions(obj)
		if err != nil {
			return err
		}
		is := map[string]metav1.Condition{}
		for _, c := range conditions {
			is[c.Type] = c
		}
		for _, want := range wanted {
			name, state, _ := strings.Cut(want, "=")
			c := is[name]
			got := string(c.Status)
			if strings.Contains(state, "/") {
				got += "/" + c.Reason
			}
			if got != state {
				return fmt.Errorf("%s %s: condition %s is %s/%s of generation %d (%s), want %s; all: %v",
					obj.GetKind(), obj.GetName(), name, c.Status, c.Reason, c.ObservedGeneration, c.Message, state, conditions)
			}
		}
		return nil
	}
}

// conditionNow waits until the object has the condition, and returns it.
func (s *suite) conditionNow(t *testing.T, kind kindOf, name, conditionType string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	s.wait(t, kind, name, func(obj *unstructured.Unstructured) error {
		conditions, err := expect.Conditions(obj)
		if err != nil {
			return err
		}
		for _, c := range conditions {
			if c.Type == conditionType {
				found = c
				return nil
			}
		}
		return fmt.Errorf("%s has no condition %s", name, conditionType)
	})
	return found
}

// pods returns the web server pods of a Superset that are not terminating.
func (s *suite) pods(t *testing.T, name string) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	if err := s.Client.List(t.Context(), list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	var out []corev1.Pod
	for _, pod := range list.Items {
		if strings.HasPrefix(pod.Name, name+"-web-server-") && pod.DeletionTimestamp == nil {
			out = append(out, pod)
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no pods", name)
	}
	return out
}

// annotatePods requests a failure of the pods from the simulation; an empty text lets them recover.
func (s *suite) annotatePods(t *testing.T, name, how string) {
	t.Helper()
	value := "null"
	if how != "" {
		value = fmt.Sprintf("%q", how)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, controlplane.FailAnnotation, value)
	for _, pod := range s.pods(t, name) {
		if err := s.Client.Patch(t.Context(), &pod, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *suite) patchPodStatus(t *testing.T, name, patch string) {
	t.Helper()
	for _, pod := range s.pods(t, name) {
		if err := s.Client.Status().Patch(t.Context(), &pod, client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
}

// command sets the annotation operator-command; an empty text removes it.
func (s *suite) command(t *testing.T, kind kindOf, name, word string) {
	t.Helper()
	value := "null"
	if word != "" {
		value = fmt.Sprintf("%q", word)
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("default")
	obj.SetName(name)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"operator-command":%s}}}`, value)
	if err := s.Client.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// stopAndStart checks that Stopped is True only after the last pod is deleted, and that a stop does not set Degraded.
func (s *suite) stopAndStart(t *testing.T, kind kindOf, name string) {
	t.Helper()
	s.command(t, kind, name, "Stopped")
	s.wait(t, kind, name, reports("Stopped=True/Stopped", "Available=False/Stopped", "Degraded=False", "Upgradable=False/Stopped"))
	list := &corev1.PodList{}
	if err := s.Client.List(t.Context(), list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		if strings.HasPrefix(pod.Name, name+"-") && pod.Status.Phase != corev1.PodSucceeded {
			t.Errorf("pod %s exists although %s is stopped", pod.Name, name)
		}
	}
	s.command(t, kind, name, "")
	s.wait(t, kind, name, isHealthy)
}
