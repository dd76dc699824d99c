package writer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func waiting(kind *registry.Kind, uids ...string) []*request {
	var out []*request
	for _, uid := range uids {
		out = append(out, &request{record: &record.Record{Kind: kind, UID: uid}})
	}
	return out
}

func uids(batch []*request) []string {
	var out []string
	for _, req := range batch {
		out = append(out, req.record.Kind.Name+" "+req.record.UID)
	}
	return out
}

func TestBatches(t *testing.T) {
	a, b := &registry.Kind{Name: "A"}, &registry.Kind{Name: "B"}
	q := newQueue(3, 1<<20)
	for _, req := range append(waiting(a, "4", "2", "3", "2", "1"), waiting(b, "x")...) {
		q.put(req)
	}
	first := q.take()
	second := q.take()
	third := q.take()
	q.done(first)
	fourth := q.take()
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

func TestBatchesAreBoundedInBytes(t *testing.T) {
	kind := &registry.Kind{Name: "A"}
	q := newQueue(100, 1000)
	for _, req := range waiting(kind, "1", "2", "3") { // each counts 512 bytes and more
		q.put(req)
	}
	if got := uids(q.take()); len(got) != 1 {
		t.Errorf("batch %v, want one record", got)
	}
}

func TestAClosedQueueIsEmptiedFirst(t *testing.T) {
	q := newQueue(100, 1<<20)
	for _, req := range waiting(&registry.Kind{Name: "A"}, "1", "1") {
		q.put(req)
	}
	q.close()
	if q.put(&request{record: &record.Record{Kind: &registry.Kind{}}}) {
		t.Error("a closed queue took a request")
	}
	for i := range 2 {
		batch := q.take()
		if len(batch) != 1 {
			t.Fatalf("batch %d holds %d requests, want 1", i, len(batch))
		}
		q.done(batch)
	}
	if q.take() != nil {
		t.Error("an empty closed queue gave a batch")
	}
}
