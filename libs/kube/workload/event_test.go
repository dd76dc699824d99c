package workload

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOccurrences(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	created := metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(1))}
	cases := map[string]struct {
		event corev1.Event
		count int32
		last  time.Time
	}{
		"without times":  {corev1.Event{ObjectMeta: created}, 1, at(1)},
		"a new event":    {corev1.Event{ObjectMeta: created, EventTime: metav1.NewMicroTime(at(2))}, 1, at(2)},
		"with a count":   {corev1.Event{ObjectMeta: created, Count: 7, LastTimestamp: metav1.NewTime(at(3))}, 7, at(3)},
		"with a series":  {corev1.Event{ObjectMeta: created, EventTime: metav1.NewMicroTime(at(2)), Series: &corev1.EventSeries{Count: 9, LastObservedTime: metav1.NewMicroTime(at(4))}}, 9, at(4)},
		"a short series": {corev1.Event{ObjectMeta: created, Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(at(4))}}, 1, at(4)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if count, last := Occurrences(&tc.event); count != tc.count || !last.Equal(tc.last) {
				t.Errorf("got %d at %s, want %d at %s", count, last, tc.count, tc.last)
			}
		})
	}
}
