package throttle

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// enqueues checks which engines the limiter enqueues.
func enqueues(t *testing.T, l *Limiter, want ...string) {
	t.Helper()
	engines, err := l.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range engines {
		got = append(got, e.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("enqueued engines (-want +got):\n%s", diff)
	}
}

// A free slot enqueues one of thousands of waiting engines, once.
func TestFreeSlotEnqueuesOneEngine(t *testing.T) {
	rolling := []v1alpha1.FireboltEngine{
		rollingEngine("a", "x", v1alpha1.PhaseCreating, 0), rollingEngine("a", "y", v1alpha1.PhaseDraining, 0),
	}
	clock, cache := clocktesting.NewFakePassiveClock(testTime), &listed{engines: rolling}
	l := New(2, cache, clock)
	enqueues(t, l)
	waiting := func(i int) v1alpha1.FireboltEngine {
		return rollingEngine("a", fmt.Sprintf("e%04d", i), v1alpha1.PhaseStable, 0)
	}
	for i := range 5000 {
		if acquires(t, l, waiting(i)) {
			t.Fatalf("engine %d acquires a third slot", i)
		}
	}
	enqueues(t, l)
	cache.engines = rolling[:1]
	enqueues(t, l, "a/e0000")
	enqueues(t, l)
	if !acquires(t, l, waiting(0)) {
		t.Error("the enqueued engine gets no slot")
	}
	enqueues(t, l)
	cache.engines = nil
	enqueues(t, l, "a/e0001")
	l.Leave(waiting(1).UID) // its class was edited back
	enqueues(t, l, "a/e0002")
	clock.SetTime(testTime.Add(reservation + time.Second))
	enqueues(t, l, "a/e0003") // the other one does not try: it was deleted
	if !acquires(t, l, waiting(2)) {
		t.Error("an engine that tries late gets no slot")
	}
}

func TestFreeSlotEnqueuesNamespacesInTurn(t *testing.T) {
	clock, cache := clocktesting.NewFakePassiveClock(testTime), &listed{}
	cache.engines = []v1alpha1.FireboltEngine{
		rollingEngine("big", "1", v1alpha1.PhaseCreating, 0), rollingEngine("big", "2", v1alpha1.PhaseCreating, 0),
		rollingEngine("big", "3", v1alpha1.PhaseCreating, 0),
	}
	l := New(3, cache, clock)
	for _, e := range []string{"c", "b", "a"} {
		acquires(t, l, rollingEngine("big", e, v1alpha1.PhaseStable, 0))
		clock.SetTime(clock.Now().Add(time.Second))
	}
	acquires(t, l, rollingEngine("small", "z", v1alpha1.PhaseStable, 0))
	cache.engines = cache.engines[:1]
	enqueues(t, l, "small/z", "big/c")
	acquires(t, l, rollingEngine("small", "z", v1alpha1.PhaseStable, 0))
	acquires(t, l, rollingEngine("big", "c", v1alpha1.PhaseStable, 0))
	cache.engines = nil
	enqueues(t, l, "big/b")
}

func TestSourceEnqueuesWaitingEngine(t *testing.T) {
	cache := &listed{engines: []v1alpha1.FireboltEngine{rollingEngine("a", "x", v1alpha1.PhaseCreating, 0)}}
	l := New(1, cache, clocktesting.NewFakePassiveClock(testTime))
	if acquires(t, l, rollingEngine("a", "me", v1alpha1.PhaseStable, 0)) {
		t.Fatal("a second engine rolls out, one may")
	}
	cache.engines = nil
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	if err := l.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		if queue.Len() == 0 {
			return errors.New("the queue is empty")
		}
		return nil
	})
	got, _ := queue.Get()
	if want := (reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "me"}}); got != want {
		t.Errorf("enqueued %v, want %v", got, want)
	}
}
