package objectsync

import (
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
)

// Resync enqueues all objects of all informers, and events that precede it are not measured.
func TestResyncEnqueuesAllObjects(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	r := New(Config{Clock: clk})
	r.client = &cachedClient{informers: map[string]*informer{}}
	for _, name := range []string{"a", "b"} {
		store := &movingStore{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), move: func() {}}
		if err := store.Add(listed(t, name, name, "7")); err != nil {
			t.Fatal(err)
		}
		r.client.informers[name] = &informer{SharedIndexInformer: movingInformer{store: store}, initialList: newInitialListBuffer()}
	}
	r.client.informers["a"].initialList.add(listed(t, "arriving", "c", "7"))
	q := newQueue(t)
	r.Resync(clk.Now()) // before the controller runs
	if err := r.startResync(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := names(q); len(got) > 0 {
		t.Errorf("enqueued %v before a resync", got)
	}
	received := clk.Now()
	clk.Step(time.Minute)
	if r.resync.precedes(received) {
		t.Error("an event after the start is not measured")
	}
	r.Resync(clk.Now())
	if got := names(q); !got["a"] || !got["b"] || !got["arriving"] || len(got) != 3 {
		t.Errorf("enqueued %v, want a, b and arriving", got)
	}
	if !r.resync.precedes(received) || r.resync.precedes(clk.Now()) {
		t.Error("events before the resync are measured, or later ones are not")
	}
}
