package workload

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// NewestEvent returns the event that occurred last; nil without any.
func NewestEvent(events []corev1.Event) *corev1.Event {
	if len(events) == 0 {
		return nil
	}
	newest := slices.MaxFunc(events, func(a, b corev1.Event) int {
		_, lastA := Occurrences(&a)
		_, lastB := Occurrences(&b)
		return cmp.Or(lastA.Compare(lastB), cmp.Compare(a.Name, b.Name))
	})
	return &newest
}

// Occurrences returns how often an event occurred, at least once, and when it last did. A recurring event has
// either a series or a count.
func Occurrences(e *corev1.Event) (count int32, last time.Time) {
	switch {
	case e.Series != nil:
		return max(e.Series.Count, 1), e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		last = e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		last = e.EventTime.Time
	default:
		last = e.CreationTimestamp.Time
	}
	return max(e.Count, 1), last
}
