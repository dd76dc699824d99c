package queue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func waiting(kind *registry.Kind, uids ...string) []*Request {
	var out []*Request
	for _, uid := range uids {
		out = append(out, &Request{Record: &record.Record{Kind: kind, UID: uid}})
	}
	return out
}

func uids(batch []*Request) []string {
	var out []string
	for _, req := range batch {
		out = append(out, req.Record.Kind.Name+" "+req.Record.UID)
	}
	return out
}

func TestTakeBatches(t *testing.T) {
	a, b := &registry.Kind{Name: "A"}, &registry.Kind{Name: "B"}
	q := New(3, 1<<20, clock.RealClock{})
	for _, req := range append(waiting(a, "4", "2", "3", "2", "1"), waiting(b, "x")...) {
		q.Add(req)
	}
	first := q.Take()
	second := q.Take()
	third := q.Take()
	q.Release(first)
	fourth := q.Take()
	got := [][]string{uids(first), uids(second), uids(third), uids(fourth)}
	want := [][]string{
		{"A 2", "A 3", "A 4"}, // no more than three, sorted
		{"B x"},               // the other kind has waited long enough
		{"A 1"},               // the second request for 2 waits for the first one
		{"A 2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestTakeBoundsBytes(t *testing.T) {
	kind := &registry.Kind{Name: "A"}
	q := New(100, 1000, clock.RealClock{})
	for _, req := range waiting(kind, "1", "2", "3") { // each counts 512 bytes and more
		q.Add(req)
	}
	if got := uids(q.Take()); len(got) != 1 {
		t.Errorf("batch %v, want one record", got)
	}
}

func TestCloseReturnsWaitingRequests(t *testing.T) {
	q := New(100, 1<<20, clock.RealClock{})
	for _, req := range waiting(&registry.Kind{Name: "A"}, "1", "1") {
		q.Add(req)
	}
	q.Close()
	if q.Add(&Request{Record: &record.Record{Kind: &registry.Kind{}}}) {
		t.Error("a closed queue took a request")
	}
	for i := range 2 {
		batch := q.Take()
		if len(batch) != 1 {
			t.Fatalf("batch %d holds %d requests, want 1", i, len(batch))
		}
		q.Release(batch)
	}
	if q.Take() != nil {
		t.Error("an empty closed queue gave a batch")
	}
}

func TestRemoveTakesNothingElse(t *testing.T) {
	a, b := &registry.Kind{Name: "A"}, &registry.Kind{Name: "B"}
	q := New(100, 1<<20, clock.RealClock{})
	of, only := waiting(a, "1", "2", "3"), waiting(b, "x")
	for _, req := range append(append([]*Request{}, only...), of...) {
		q.Add(req)
	}
	q.Remove(of[1])
	q.Remove(only[0])
	q.Remove(only[0])
	if len(q.waiting) != 1 || len(q.order) != 1 || q.order[0] != a {
		t.Errorf("waiting %v, order %v, want only kind A", q.waiting, q.order)
	}
	first := q.Take()
	for _, req := range first {
		q.Remove(req) // is being written
	}
	next := waiting(a, "1", "4")
	for _, req := range next {
		q.Add(req)
	}
	second := q.Take()
	q.Release(first)
	third := q.Take()
	want := [][]string{{"A 1", "A 3"}, {"A 4"}, {"A 1"}}
	if diff := cmp.Diff(want, [][]string{uids(first), uids(second), uids(third)}); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// TestRemoveEndsClosedQueue removes the last request, which waits for a batch with the same object.
func TestRemoveEndsClosedQueue(t *testing.T) {
	q := New(100, 1<<20, clock.RealClock{})
	requests := waiting(&registry.Kind{Name: "A"}, "1", "1")
	for _, req := range requests {
		q.Add(req)
	}
	q.Take()
	q.Close()
	ended := make(chan []*Request)
	go func() { ended <- q.Take() }()
	q.Remove(requests[1])
	if batch := <-ended; batch != nil {
		t.Errorf("batch %v, want none", uids(batch))
	}
}
