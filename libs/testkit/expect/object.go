package expect

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object gets obj, which must have a name, until check returns nil. obj then holds the last read state.
func Object[T client.Object](t testing.TB, c client.Reader, obj T, check func(T) error) {
	t.Helper()
	key := client.ObjectKeyFromObject(obj)
	Eventually(t, Long, func() error {
		if err := c.Get(t.Context(), key, obj); err != nil {
			return fmt.Errorf("read %T %q: %w", obj, key, err)
		}
		if err := check(obj); err != nil {
			return fmt.Errorf("%T %q: %w", obj, key, err)
		}
		return nil
	})
}

// Deleted waits until obj is deleted, or replaced by another object of the same name.
func Deleted(t testing.TB, c client.Reader, obj client.Object) {
	t.Helper()
	key, uid := client.ObjectKeyFromObject(obj), obj.GetUID()
	Eventually(t, Long, func() error {
		err := c.Get(t.Context(), key, obj)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %T %q: %w", obj, key, err)
		}
		if uid != "" && obj.GetUID() != uid {
			return nil
		}
		return fmt.Errorf("%T %q still exists, finalizers %v", obj, key, obj.GetFinalizers())
	})
}

// Condition waits until the condition of obj has the status, and returns the condition. If the condition sets
// observedGeneration, it must be the current generation of obj.
func Condition(
	t testing.TB, c client.Reader, obj client.Object, conditionType string, status metav1.ConditionStatus,
) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	Object(t, c, obj, func(o client.Object) error {
		conditions, err := Conditions(o)
		if err != nil {
			return err
		}
		got := meta.FindStatusCondition(conditions, conditionType)
		switch {
		case got == nil:
			return fmt.Errorf("no condition %s among %v", conditionType, conditions)
		case got.Status != status:
			return fmt.Errorf("condition %s is %s/%s (%s) instead of %s", conditionType, got.Status, got.Reason, got.Message, status)
		case got.ObservedGeneration != 0 && got.ObservedGeneration != o.GetGeneration():
			return fmt.Errorf("condition %s is of generation %d, not %d", conditionType, got.ObservedGeneration, o.GetGeneration())
		}
		found = *got
		return nil
	})
	return found
}

// Conditions returns status.conditions of any object, typed or unstructured.
func Conditions(obj runtime.Object) ([]metav1.Condition, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("read the conditions: %w", err)
	}
	var holder struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &holder); err != nil {
		return nil, fmt.Errorf("read the conditions: %w", err)
	}
	return holder.Status.Conditions, nil
}
