package createfailure_test

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// events answers lists and counts them.
type events struct {
	client.Reader
	items []corev1.Event
	err   error
	lists int
}

func (e *events) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	e.lists++
	if list, ok := into.(*corev1.EventList); ok {
		list.Items = e.items
	}
	return e.err
}

func event(message string, after time.Duration) corev1.Event {
	return corev1.Event{Message: message, LastTimestamp: metav1.NewTime(start.Add(after))}
}

func TestFindLimitsRequests(t *testing.T) {
	reader := &events{items: []corev1.Event{
		event(`Error creating: pods "x-migrate-b7zkq" is forbidden: exceeded quota: few, requested: pods=1`, time.Minute),
		event("Error creating: older", 0),
	}}
	clock := testclock.NewFakePassiveClock(start)
	f := createfailure.New(reader, clock)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job", Name: "x-migrate", CreationTimestamp: metav1.NewTime(start)}}
	const message = "forbidden: exceeded quota: few, requested: pods=1"
	for i, step := range []struct {
		at           time.Duration
		want         string
		requeueAfter time.Duration
		lists        int
	}{
		{time.Second, "", createfailure.GracePeriod - time.Second, 0},
		{createfailure.GracePeriod, message, createfailure.Refresh, 1},
		{createfailure.GracePeriod + time.Second, message, createfailure.Refresh - time.Second, 1},
		{createfailure.GracePeriod + createfailure.Refresh, message, createfailure.Refresh, 2},
	} {
		clock.SetTime(start.Add(step.at))
		got, requeueAfter, err := f.Find(t.Context(), job)
		if err != nil || got != step.want || requeueAfter != step.requeueAfter || reader.lists != step.lists {
			t.Errorf("step %d: %q again in %s after %d lists (%v), want %q, %s, %d", i, got, requeueAfter, reader.lists, err, step.want, step.requeueAfter, step.lists)
		}
	}
	reader.err, reader.items = errors.New("away"), nil
	clock.SetTime(start.Add(createfailure.GracePeriod + 3*createfailure.Refresh))
	if got, requeueAfter, err := f.Find(t.Context(), job); err == nil || got != message || requeueAfter != createfailure.Refresh {
		t.Errorf("after an error: %q again in %s (%v), want the known message", got, requeueAfter, err)
	}
	other := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "other", Name: "x-migrate", CreationTimestamp: metav1.NewTime(start)}}
	if got, _, err := f.Find(t.Context(), other); err == nil || got != "" {
		t.Errorf("after an error: %q for a replaced Job (%v)", got, err)
	}
	clock.SetTime(start.Add(time.Hour))
	if got, requeueAfter, err := f.Find(t.Context(), job); err == nil || got != "" || requeueAfter != createfailure.Refresh {
		t.Errorf("after an error: %q again in %s (%v)", got, requeueAfter, err)
	}
}

// A workload is reconciled when the Finder requests it and, because of a watch event, at one other time: grace period,
// refresh and hold-down together delay the message by at most 30 s.
func TestFindReportsEventInTime(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job", CreationTimestamp: metav1.NewTime(start)}}
	found := func(rejected, other time.Duration) (at time.Duration) {
		reader, clock := &events{}, testclock.NewFakePassiveClock(start)
		f := createfailure.New(reader, clock)
		for {
			clock.SetTime(start.Add(at))
			if at >= rejected {
				reader.items = []corev1.Event{event("quota", rejected)}
			}
			message, requeueAfter, err := f.Find(t.Context(), job)
			if err != nil || requeueAfter <= 0 {
				t.Fatalf("again in %s, %v", requeueAfter, err)
			}
			if message != "" {
				return at
			}
			next := at + requeueAfter
			if at < other {
				next = min(next, other)
			}
			at = next
		}
	}
	for rejected := range time.Duration(30) {
		for other := range time.Duration(60) {
			at := found(rejected*time.Second, other*time.Second)
			if delay := at - rejected*time.Second + conditions.CreateFailureHold; delay > 30*time.Second {
				t.Fatalf("rejected at %d s, reconciled at %d s: reported after %s", rejected, other, delay)
			}
		}
	}
}

// An exhausted quota may reject the pods of a thousand workloads for hours.
func TestFindReadsUnchangedEventsLessOften(t *testing.T) {
	reader, clock := &events{items: []corev1.Event{event("quota", 0)}}, testclock.NewFakePassiveClock(start)
	f := createfailure.New(reader, clock)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job", ResourceVersion: "1", CreationTimestamp: metav1.NewTime(start)}}
	find := func() (message string, requeueAfter time.Duration) {
		t.Helper()
		message, requeueAfter, err := f.Find(t.Context(), job)
		if err != nil || requeueAfter <= 0 || requeueAfter > createfailure.MaxRefresh {
			t.Fatalf("again in %s, %v", requeueAfter, err)
		}
		clock.SetTime(clock.Now().Add(requeueAfter))
		return message, requeueAfter
	}
	for clock.Now().Before(start.Add(time.Hour)) {
		find()
	}
	if reader.lists > 25 {
		t.Errorf("%d lists in an hour, at most 25 are allowed", reader.lists)
	}
	reader.items = []corev1.Event{event("webhook", 0)}
	if got, requeueAfter := find(); got != "webhook" || requeueAfter != createfailure.Refresh {
		t.Errorf("another event: %q again in %s", got, requeueAfter)
	}
	for clock.Now().Before(start.Add(2 * time.Hour)) {
		find()
	}
	reader.items, job.ResourceVersion = nil, "2" // one pod was created
	clock.SetTime(clock.Now().Add(createfailure.Refresh - createfailure.MaxRefresh))
	if got, requeueAfter := find(); got != "" || requeueAfter != createfailure.Refresh {
		t.Errorf("another version: %q again in %s", got, requeueAfter)
	}
}

func TestMessageReturnsLatestEvent(t *testing.T) {
	series := corev1.Event{Message: "series", Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(start.Add(time.Hour))}}
	later := corev1.Event{Message: "later", EventTime: metav1.NewMicroTime(start.Add(time.Minute))}
	for want, list := range map[string][]corev1.Event{
		"": nil, "new": {event("new", time.Second), event("old", 0)}, "later": {later, event("old", 0)},
		"series": {event("new", time.Minute), series},
		"first":  {{Message: "first", ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(start)}}},
	} {
		if got := createfailure.Message(list); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
