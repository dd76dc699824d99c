package history

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// readOlder makes the store hold an older entry, as if a lagging replica of the bucket had returned it.
func (f *fixture) readOlder(older *Record) {
	f.t.Helper()
	f.restart()
	r := &Record{Entry: older.Entry, Memory: older.Memory, Revision: older.Revision, entryState: older.entryState}
	r.pending = plan(r.Entry, r.entryState, r.Revision)
	f.store.keep(ref, r)
}

// A lagging replica of the bucket returns an older entry, which publishes nothing and cannot be written.
func TestOlderEntryPublishesNoEventAgain(t *testing.T) {
	for name, last := range map[string]int64{"after a condition": 1, "after a phase change and a condition": 3} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			entry := func(degraded string, seq int64) contract.StatusEntry {
				e := f.entry("a", degraded)
				e.LastTransitionSeq = f.phases("a", ring(1, seq))
				return e
			}
			f.put(entry("Degraded=False@0", 1))
			f.flush()
			older := f.put(entry("Degraded=True@1", 1))
			f.flush()
			f.put(entry("Degraded=False@2", last))
			f.flush()
			want := f.history()

			f.readOlder(older)
			f.flush()
			if got := f.phases("a", ring(1, last)); got != last {
				t.Errorf("published up to %d, want %d", got, last)
			}
			f.wantHistory(want...)
			_, err := f.store.Put(t.Context(), ref, entry("Degraded=True@3", last), conditions.State{UID: "a"})
			if !errors.Is(err, ErrConflict) {
				t.Errorf("got %v, want ErrConflict", err)
			}
			f.put(entry("Degraded=True@3", last)) // reads the bucket again
			f.flush()
			f.wantHistory(append(want, "a degraded Degraded=True")...)
		})
	}
}

// A process that another one replaced while it published does not publish the rest of its entry.
func TestReplacedProcessPublishesNoEventAgain(t *testing.T) {
	f := newFixture(t)
	f.put(f.entry("a", "Degraded=False@0"))
	f.flush()
	f.put(f.entry("a", "Degraded=True@1")) // located, and not published
	replaced := f.store
	f.restart()
	f.flush()
	f.put(f.entry("a", "Degraded=False@2"))
	f.flush()
	want := f.history()
	f.bus.before = func(bus.Message) error { // as the stream does after its deduplication window
		f.bus.before = nil
		return &jetstream.APIError{ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}
	}
	if err := replaced.Flush(t.Context(), ref); !errors.Is(err, ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
	if err := replaced.Flush(t.Context(), ref); err != nil {
		t.Error(err)
	}
	f.wantHistory(want...)
}

// A bucket that was reset to an older state continues with a gap, also if no process has read the later one.
func TestResetBucketPublishesGap(t *testing.T) {
	f := newFixture(t)
	older := f.put(f.entry("a", "Degraded=False@0"))
	f.flush()
	f.put(f.entry("a", "Degraded=True@1"))
	f.flush()
	key, err := ref.Key()
	if err != nil {
		t.Fatal(err)
	}
	f.deleteBucket()
	kv, err := f.conn.JetStream().KeyValue(t.Context(), contract.BucketStatus)
	if err != nil {
		t.Fatal(err)
	}
	value, err := json.Marshal(older.Entry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Create(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
	f.restart()
	f.flush()
	f.put(f.entry("a", "Degraded=True@1"))
	f.flush()
	f.wantHistory("a snapshot 0:Running", "a degraded Degraded=True", "a snapshot 0:Running gap")
}

func TestRevisionOfEventID(t *testing.T) {
	for id, want := range map[string][2]uint64{
		"": {}, "a": {}, "a.7": {}, "a.7.1": {}, "a.deleted": {}, "a.deleted.5": {}, "a.Degraded.x": {}, "a.Degraded.8.x": {},
		"a.snapshot.3": {3, 0}, "a.phase.4": {4, 0}, "a.Degraded.8.12": {8, 12},
	} {
		if revision, base := (position{id: id}).revision(); [2]uint64{revision, base} != want {
			t.Errorf("%q has revision %d and base %d, want %v", id, revision, base, want)
		}
	}
}
