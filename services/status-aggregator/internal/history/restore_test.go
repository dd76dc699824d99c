package history

import (
	"errors"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// After a restore from a backup the cluster counts phase changes from an earlier
// number again. This publishes one gap event, and later events have distinct ids.
func TestPhaseRegressionPublishesGap(t *testing.T) {
	for name, loss := range map[string]func(*fixture){
		"the entry is there":  func(*fixture) {},
		"the process is new":  (*fixture).restart,
		"the bucket was lost": (*fixture).deleteBucket,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			e := f.entry("a", "Available=True@0")
			e.LastTransitionSeq = f.phases("a", ring(1, 9))
			f.put(e)
			f.flush()

			if _, err := f.store.Phases(t.Context(), ref, object("a"), ring(1, 5)); !errors.Is(err, ErrPhaseRegressed) {
				t.Fatalf("got %v, want ErrPhaseRegressed", err)
			}
			e.LastTransitionSeq = 5
			f.put(e)
			f.flush()
			f.phases("a", ring(1, 6))
			loss(f)
			if last := f.phases("a", ring(1, 7)); last != 7 {
				t.Errorf("published up to %d, want 7", last)
			}
			got := f.history() // reports ids that are in the stream twice
			want := []string{"a gap 5:Running gap", "a phase 6:P6", "a phase 7:P7"}
			if got = got[len(got)-3:]; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
				t.Errorf("history ends with %q, want %q", got, want)
			}
			messages := f.messages()
			if id := messages[len(messages)-1].Header.Get(contract.HeaderMsgID); id != "a.7.1" {
				t.Errorf("id %q, want a.7.1", id)
			}
		})
	}
}

// An object that a backup restored is deleted a second time, and the deletion is published again.
func TestDeletePublishesRestoredObjectAgain(t *testing.T) {
	f := newFixture(t)
	for range 2 {
		f.put(f.entry("a", "Available=True@0"))
		f.flush()
		if err := f.store.Delete(t.Context(), ref, false); err != nil {
			t.Fatal(err)
		}
	}
	f.wantHistory("a snapshot 0:Running", "a deleted 0:", "a snapshot 0:Running gap", "a deleted 0:")
}

// A wiped bus has no record of used ids, but consumers do.
func TestEventIDsStayUniqueAfterWipe(t *testing.T) {
	for name, reset := range map[string]func(*fixture){
		"the same process": func(f *fixture) { f.store.Invalidate() },
		"another process":  (*fixture).restart,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			used := map[string]bool{}
			runLifecycle := func() {
				f.clock.SetTime(f.clock.Now().Add(time.Minute))
				f.put(f.entry("a", "Available=False@0"))
				f.flush()
				f.put(f.entry("a", "Available=True@30"))
				f.flush()
				for _, m := range f.messages() {
					id := m.Header.Get(contract.HeaderMsgID)
					if used[id] {
						t.Errorf("id %s was used before", id)
					}
					used[id] = true
				}
			}
			runLifecycle()
			f.deleteStreams()
			reset(f)
			runLifecycle()
			f.wantHistory("a snapshot 0:Running gap", "a available Available=True")
		})
	}
}

// deleteStreams loses all data of the bus.
func (f *fixture) deleteStreams() {
	f.t.Helper()
	if err := f.conn.JetStream().DeleteStream(f.t.Context(), contract.StreamLifecycle); err != nil {
		f.t.Fatal(err)
	}
	f.deleteBucket()
}

func (f *fixture) deleteBucket() {
	f.t.Helper()
	if err := f.conn.JetStream().DeleteKeyValue(f.t.Context(), contract.BucketStatus); err != nil {
		f.t.Fatal(err)
	}
	if err := bus.Bootstrap(f.t.Context(), f.conn.JetStream(), bus.DefaultParams()); err != nil {
		f.t.Fatal(err)
	}
	f.store.Invalidate()
}
