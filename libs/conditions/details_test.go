package conditions_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
)

func TestOnlyDetailsDiffer(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	present := []metav1.Condition{
		{Type: "Tool", Status: metav1.ConditionTrue},
		{Type: conditions.TypeAvailable, Status: metav1.ConditionFalse, ObservedGeneration: 1, Reason: "A", Message: "a", LastTransitionTime: at},
		{Type: conditions.TypePaused, Status: metav1.ConditionFalse, ObservedGeneration: 1, Reason: "B", Message: "b", LastTransitionTime: at},
	}
	tests := map[string]struct {
		change func(*metav1.Condition)
		want   bool
	}{
		"equal":      {func(*metav1.Condition) {}, false},
		"message":    {func(c *metav1.Condition) { c.Message = "c" }, true},
		"reason":     {func(c *metav1.Condition) { c.Reason = "C" }, true},
		"status":     {func(c *metav1.Condition) { c.Status, c.Reason = metav1.ConditionTrue, "C" }, false},
		"generation": {func(c *metav1.Condition) { c.ObservedGeneration = 2 }, false},
		"transition": {func(c *metav1.Condition) { c.LastTransitionTime, c.Message = metav1.NewTime(at.Add(time.Second)), "c" }, false},
		"new type":   {func(c *metav1.Condition) { c.Type, c.Message = conditions.TypeStopped, "c" }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			desired := slices.Clone(present[1:])
			tc.change(&desired[0])
			if got := conditions.OnlyDetailsDiffer(present, desired); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
