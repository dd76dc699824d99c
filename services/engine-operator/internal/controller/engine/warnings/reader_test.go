package warnings

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
)

// stubEvents answers a list like the API server: by name, and no more than the limit.
type stubEvents struct {
	typedcorev1.EventInterface
	all     []corev1.Event
	options []metav1.ListOptions
	failure error
}

func (s *stubEvents) Events(string) typedcorev1.EventInterface { return s }

func (s *stubEvents) List(_ context.Context, options metav1.ListOptions) (*corev1.EventList, error) {
	s.options = append(s.options, options)
	if s.failure != nil {
		return nil, s.failure
	}
	found := s.all
	if options.Limit > 0 {
		found = found[:min(len(found), int(options.Limit))]
	}
	return &corev1.EventList{Items: found}, nil
}

// The newest event is the last one by name.
func TestLatestReadsAllEvents(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	events := &stubEvents{}
	for n := range 40 {
		events.all = append(events.all, corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("a-g0.%02d", n)}, Reason: "FailedCreate",
			Message: fmt.Sprintf("attempt %d", n), LastTimestamp: metav1.NewTime(now.Add(time.Duration(n-100) * time.Second)),
		})
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "n", Name: "a-g0", UID: "set", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
	}}
	r := New(events, clocktesting.NewFakePassiveClock(now))
	for range 2 { // the second result is the cached one
		got, _, err := r.Latest(t.Context(), "engine", set)
		if err != nil {
			t.Fatal(err)
		}
		if want := "StatefulSet a-g0: attempt 39"; got.Message != want {
			t.Errorf("message = %q, want %q", got.Message, want)
		}
	}
	if len(events.options) != 1 || events.options[0].Limit != 0 {
		t.Errorf("lists = %+v, want one without a limit", events.options)
	}
	if want := "involvedObject.uid=set,type=Warning"; events.options[0].FieldSelector != want {
		t.Errorf("field selector = %q, want %q", events.options[0].FieldSelector, want)
	}
}

// An exhausted quota may reject the pods of a thousand engines for hours. Each attempt counts in the same event.
func TestLatestReadsUnchangedEventsLessOften(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	events, clock := &stubEvents{all: []corev1.Event{{Reason: "FailedCreate", Message: "quota"}}}, clocktesting.NewFakePassiveClock(start)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Name: "a-g0", UID: "set", ResourceVersion: "1", CreationTimestamp: metav1.NewTime(start),
	}}
	r := New(events, clock)
	latest := func() (message string, requeue time.Duration) {
		t.Helper()
		events.all[0].Count++
		warning, requeue, err := r.Latest(t.Context(), "engine", set)
		if err != nil || requeue <= 0 || requeue > createfailure.MaxRefresh {
			t.Fatalf("again in %s, %v", requeue, err)
		}
		clock.SetTime(clock.Now().Add(requeue))
		return warning.Cause, requeue
	}
	for clock.Now().Before(start.Add(time.Hour)) {
		latest()
	}
	if n := len(events.options); n > 25 {
		t.Errorf("%d lists in an hour, at most 25 are allowed", n)
	}
	events.all[0].Message = "webhook"
	if got, requeue := latest(); got != "webhook" || requeue != createfailure.Refresh {
		t.Errorf("another event: %q again in %s", got, requeue)
	}
	for clock.Now().Before(start.Add(2 * time.Hour)) {
		latest()
	}
	events.all[0].Message, set.ResourceVersion = "service account", "2" // one pod was created
	clock.SetTime(clock.Now().Add(createfailure.Refresh - createfailure.MaxRefresh))
	if got, requeue := latest(); got != "service account" || requeue != createfailure.Refresh {
		t.Errorf("another version: %q again in %s", got, requeue)
	}
	events.all[0].Message, set.UID = "quota", "another"
	clock.SetTime(clock.Now().Add(-createfailure.Refresh))
	if got, _ := latest(); got != "quota" {
		t.Errorf("another StatefulSet: %q", got)
	}
}

// The cause of missing pods remains while the API server does not return the events.
func TestLatestKeepsWarningAfterFailedRead(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	events, clock := &stubEvents{all: []corev1.Event{{Reason: "FailedCreate", Message: "quota"}}}, clocktesting.NewFakePassiveClock(start)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a-g0", UID: "set", CreationTimestamp: metav1.NewTime(start.Add(-time.Hour))}}
	r := New(events, clock)
	if _, _, err := r.Latest(t.Context(), "engine", set); err != nil {
		t.Fatal(err)
	}
	events.failure = errors.New("unavailable")
	clock.SetTime(start.Add(createfailure.MaxRefresh))
	for uid, want := range map[types.UID]string{"set": "quota", "another": ""} {
		set.UID = uid
		warning, requeue, err := r.Latest(t.Context(), "engine", set)
		if !errors.Is(err, events.failure) || warning.Cause != want || requeue != createfailure.Refresh {
			t.Errorf("StatefulSet %s: %q again in %s, %v; want %q", uid, warning.Cause, requeue, err, want)
		}
	}
}

// An engine is reconciled when the Reader requests it and, because of a watch event, at one other time: grace period,
// refresh and hold-down together delay the message by at most 30 s.
func TestLatestReportsEventInTime(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a-g0", UID: "set", CreationTimestamp: metav1.NewTime(start)}}
	found := func(rejected, other time.Duration) (at time.Duration) {
		events, clock := &stubEvents{}, clocktesting.NewFakePassiveClock(start)
		r := New(events, clock)
		for {
			clock.SetTime(start.Add(at))
			if at >= rejected {
				events.all = []corev1.Event{{Reason: "FailedCreate", Message: "quota"}}
			}
			warning, requeue, err := r.Latest(t.Context(), "engine", set)
			if err != nil || requeue <= 0 {
				t.Fatalf("again in %s, %v", requeue, err)
			}
			if warning.Message != "" {
				return at
			}
			next := at + requeue
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
