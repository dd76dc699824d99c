package history

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func TestHistoryOfObjectLifecycle(t *testing.T) {
	f := newFixture(t)
	f.phases("a", ring(1, 2))
	first := f.entry("a", "Available=False@0", "Degraded=False@0", "Ready=False@0")
	first.LastTransitionSeq = 2
	f.put(first)
	f.flush()
	f.clock.SetTime(start.Add(10 * time.Second))
	f.phases("a", ring(1, 3))
	next := f.entry("a", "Available=True@10", "Degraded=False@0", "Ready=True@10")
	next.LastTransitionSeq = 3
	f.put(next)
	f.flush()
	f.flush()
	if err := f.store.Delete(t.Context(), ref, false); err != nil {
		t.Fatal(err)
	}
	f.wantHistory(
		"a phase 1:P1", "a phase 2:P2", "a snapshot 2:Running",
		"a phase 3:P3", "a available Available=True",
		"a deleted 0:",
	)
	f.restart()
	if r, err := f.store.Load(t.Context(), ref); err != nil || r.Known() {
		t.Errorf("entry is still there: %+v, %v", r, err)
	}
	if keys, err := f.store.Keys(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("keys %v, %v", keys, err)
	}
}

func TestSequencesOfObjectIncrease(t *testing.T) {
	f := newFixture(t)
	f.phases("a", ring(1, 3))
	f.put(f.entry("a", "Available=True@0"))
	f.flush()
	last := ""
	for _, sequence := range f.sequences() {
		if sequence <= last {
			t.Errorf("sequence %q after %q", sequence, last)
		}
		last = sequence
	}
}

// A state that was never true has not ended: a new object has not recovered, nor was it resumed or
// started. After a stale observation every change is published, since the staleness was published too.
func TestNewObjectPublishesNoRecovery(t *testing.T) {
	f := newFixture(t)
	for _, e := range []contract.StatusEntry{
		f.entry("a", "Available=Unknown@0", "Degraded=Unknown@0", "Paused=Unknown@0", "Stopped=Unknown@0"),
		f.entry("a", "Available=Unknown@0", "Degraded=Unknown@0", "Paused=False@1", "Stopped=False@1"),
		f.entry("a", "Available=True@2", "Degraded=False@2", "Paused=False@1", "Stopped=False@1"),
		f.entry("a", "Available=True@2", "Degraded=Unknown@3", "Paused=Unknown@3", "Stopped=False@1"),
		f.entry("a", "Available=True@2", "Degraded=False@4", "Paused=False@4", "Stopped=False@1"),
		f.entry("b", "Degraded=Unknown@5"),
	} {
		f.put(e)
		f.flush()
		f.restart()
	}
	f.put(f.entry("b", "Degraded=True@6"))
	f.flush()
	f.put(f.entry("b", "Degraded=False@7"))
	f.flush()
	f.wantHistory(
		"a snapshot 0:Running", "a known Paused=False", "a known Stopped=False", "a available Available=True", "a known Degraded=False",
		"a unknown Degraded=Unknown", "a unknown Paused=Unknown", "a recovered Degraded=False", "a resumed Paused=False",
		"b snapshot 0:Running", "b degraded Degraded=True", "b recovered Degraded=False",
	)
}

// A process that restarts, or reads its entries again after a reconnect, publishes no event again.
func TestRestartPublishesNoEventAgain(t *testing.T) {
	f := newFixture(t)
	f.put(f.entry("a", "Available=False@0", "Degraded=True@0"))
	f.flush()
	f.put(f.entry("a", "Available=True@1", "Degraded=False@1"))
	f.flush()
	f.restart()
	f.flush()
	f.store.Invalidate()
	f.flush()
	f.wantHistory("a snapshot 0:Running", "a available Available=True", "a recovered Degraded=False")
}

// After a crash at any write the next process completes the history, without duplicate events.
func TestCrashBetweenWritesLosesNoEvent(t *testing.T) {
	want := []string{
		"a phase 1:P1", "a phase 2:P2", "a snapshot 2:Running",
		"a phase 3:P3", "a phase 4:P4", "a available Available=True", "a recovered Degraded=False",
	}
	errCrash := errors.New("crashed")
	for crash := range want {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("at event %d, stored %v", crash+1, stored), func(t *testing.T) {
				f := newFixture(t)
				count := 0
				fail := func(bus.Message) error {
					if count++; count == crash+1 {
						return errCrash
					}
					return nil
				}
				if stored {
					f.bus.after = fail
				} else {
					f.bus.before = fail
				}
				for attempt := range 3 {
					err := f.live()
					if err == nil {
						break
					}
					if !errors.Is(err, errCrash) || attempt == 2 {
						t.Fatal(err)
					}
					f.restart()
				}
				f.wantHistory(want...)
			})
		}
	}
}

// live performs the writes of a controller for two states of an object.
func (f *fixture) live() error {
	steps := []struct {
		ring  []transition.Entry
		entry contract.StatusEntry
	}{
		{ring(1, 2), f.entry("a", "Available=False@0", "Degraded=True@0")},
		{ring(1, 4), f.entry("a", "Available=True@0", "Degraded=False@0")},
	}
	ctx := f.t.Context()
	for _, s := range steps {
		r, err := f.store.Load(ctx, ref)
		if err != nil {
			return err
		}
		if err := f.store.Flush(ctx, ref); err != nil {
			return err
		}
		if s.ring[len(s.ring)-1].Seq < r.Entry.LastTransitionSeq {
			continue // the object has changed since
		}
		if s.entry.LastTransitionSeq, err = f.store.Phases(ctx, ref, s.entry.Object, s.ring); err != nil {
			return err
		}
		if cmp.Equal(r.Entry.Conditions, s.entry.Conditions) {
			continue
		}
		if _, err := f.store.Put(ctx, ref, s.entry, conditions.State{}); err != nil {
			return err
		}
		if err := f.store.Flush(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

func TestPhases(t *testing.T) {
	t.Run("a ring that overran publishes one gap", func(t *testing.T) {
		f := newFixture(t)
		e := f.entry("a", "Available=True@0")
		e.LastTransitionSeq = 2
		f.put(e)
		f.flush()
		if last := f.phases("a", ring(5, 7)); last != 7 {
			t.Errorf("last %d", last)
		}
		f.wantHistory("a snapshot 2:Running", "a phase 5:P5 gap", "a phase 6:P6", "a phase 7:P7")
	})
	t.Run("published events are not published again after the entry was lost", func(t *testing.T) {
		f := newFixture(t)
		f.phases("a", ring(1, 3))
		f.restart()
		f.phases("a", ring(1, 4))
		f.wantHistory("a phase 1:P1", "a phase 2:P2", "a phase 3:P3", "a phase 4:P4")
	})
	t.Run("a new incarnation counts from the start", func(t *testing.T) {
		f := newFixture(t)
		e := f.entry("a", "Available=True@0")
		e.LastTransitionSeq = f.phases("a", ring(1, 3))
		f.put(e)
		f.flush()
		if err := f.store.PublishDeleted(t.Context(), ref, true); err != nil {
			t.Fatal(err)
		}
		last := f.phases("b", ring(1, 1))
		e = f.entry("b", "Available=False@0")
		e.LastTransitionSeq = last
		f.put(e)
		f.flush()
		f.wantHistory("a phase 1:P1", "a phase 2:P2", "a phase 3:P3", "a snapshot 3:Running",
			"a deleted 0: gap", "b phase 1:P1", "b snapshot 1:Running")
	})
	t.Run("the end of a former incarnation is published once, also after the new one has begun", func(t *testing.T) {
		f := newFixture(t)
		f.put(f.entry("a", "Available=True@0"))
		for range 2 {
			if err := f.store.PublishDeleted(t.Context(), ref, false); err != nil {
				t.Fatal(err)
			}
			f.phases("b", ring(1, 1))
			f.restart()
		}
		f.wantHistory("a snapshot 0:Running", "a deleted 0:", "b phase 1:P1")
	})
}
