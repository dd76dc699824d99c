package history

import (
	"errors"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func TestFlushDetectsConflict(t *testing.T) {
	f := newFixture(t)
	f.put(f.entry("a", "Available=True@0"))
	f.flush()
	former := f.store // a paused leader
	f.restart()
	f.put(f.entry("a", "Available=False@0"))
	f.flush()
	_, err := former.Put(t.Context(), ref, f.entry("a", "Available=Unknown@0"), conditions.State{})
	if !errors.Is(err, ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	r, err := former.Load(t.Context(), ref)
	if err != nil || r.Entry.Conditions[0].Status != "False" {
		t.Errorf("loaded %+v, %v: want what the other one wrote", r, err)
	}
	f.wantHistory("a snapshot 0:Running", "a unavailable Available=False")
}

func TestStoreRebuildsLostBucket(t *testing.T) {
	cases := map[string]bool{"the process keeps running": false, "the process restarts": true}
	for name, restarted := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put(f.entry("a", "Available=True@0"))
			f.flush()
			if err := f.conn.JetStream().DeleteKeyValue(t.Context(), contract.BucketStatus); err != nil {
				t.Fatal(err)
			}
			if err := bus.Bootstrap(t.Context(), f.conn.JetStream(), bus.DefaultParams()); err != nil {
				t.Fatal(err)
			}
			f.store.Invalidate()
			if restarted {
				f.restart()
			}
			f.clock.SetTime(start.Add(time.Minute))
			r, err := f.store.Load(t.Context(), ref)
			if err != nil || r.Known() {
				t.Fatalf("record %+v, %v", r, err)
			}
			if hasMemory := r.Memory.UID == "a"; hasMemory == restarted {
				t.Errorf("memory %+v", r.Memory)
			}
			f.put(f.entry("a", "Available=False@60"))
			f.flush()
			// Its revision is 1 again: the id must differ from the first snapshot's.
			f.wantHistory("a snapshot 0:Running", "a snapshot 0:Running gap")
		})
	}
}

func TestGapCoversChangesByOthers(t *testing.T) {
	f := newFixture(t)
	f.put(f.entry("a", "Available=True@0", "Degraded=False@0"))
	f.flush()
	f.clock.SetTime(start.Add(time.Hour))
	f.put(f.entry("a", "Available=True@900", "Degraded=True@800"))
	f.flush()
	f.wantHistory("a snapshot 0:Running", "a gap Available=True gap", "a degraded Degraded=True")
}

func TestStoreReplacesForeignValue(t *testing.T) {
	f := newFixture(t)
	kv, err := f.conn.JetStream().KeyValue(t.Context(), contract.BucketStatus)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ref.Key()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(t.Context(), key, "not json"); err != nil {
		t.Fatal(err)
	}
	f.put(f.entry("a", "Available=True@0"))
	f.flush()
	f.wantHistory("a snapshot 0:Running gap")
}
