package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ref   = contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "main.v2"}
)

// faulty is a bus whose publishes can fail before or after the stream stored them.
type faulty struct {
	*bus.Conn
	before, after func(bus.Message) error
}

func (f *faulty) Publish(ctx context.Context, m bus.Message, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if f.before != nil {
		if err := f.before(m); err != nil {
			return nil, err
		}
	}
	ack, err := f.Conn.Publish(ctx, m, opts...)
	if err == nil && f.after != nil {
		err = f.after(m)
	}
	return ack, err
}

// fixture is a store on a real server.
type fixture struct {
	t     *testing.T
	conn  *bus.Conn
	bus   *faulty
	store *Store
	clock *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	server := natstest.Start(t)
	conn, err := bus.Connect(bus.Config{URL: server.URL(), Name: observer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := bus.Bootstrap(t.Context(), conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, conn: conn, bus: &faulty{Conn: conn}, clock: clocktesting.NewFakePassiveClock(start)}
	f.restart()
	return f
}

// restart simulates a new process with empty memory.
func (f *fixture) restart() {
	f.t.Helper()
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		f.t.Fatal(err)
	}
	f.store = New(f.bus, ref.Cluster, f.clock, m)
}

func object(uid string) contract.Object {
	return contract.Object{
		GroupVersionKind: contract.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"},
		Namespace:        ref.Namespace, Name: ref.Name, UID: uid, Generation: 1,
	}
}

// entry returns an entry with the given statuses, each as "Type=Status@second".
func (f *fixture) entry(uid string, statuses ...string) contract.StatusEntry {
	e := contract.StatusEntry{Object: object(uid), Phase: "Running", UpdatedAt: f.clock.Now()}
	for _, s := range statuses {
		var second int
		kind, tail, _ := strings.Cut(s, "=")
		status, at, _ := strings.Cut(tail, "@")
		if _, err := fmt.Sscan(at, &second); err != nil {
			f.t.Fatalf("status %q: %v", s, err)
		}
		e.Conditions = append(e.Conditions, contract.Condition{
			Type: kind, Status: status, Reason: "Test",
			LastTransitionTime: start.Add(time.Duration(second) * time.Second),
		})
	}
	return e
}

func (f *fixture) put(e contract.StatusEntry) *Record {
	f.t.Helper()
	r, err := f.store.Put(f.t.Context(), ref, e, conditions.State{UID: e.Object.UID})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) flush() {
	f.t.Helper()
	if err := f.store.Flush(f.t.Context(), ref); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) phases(uid string, ring []transition.Entry) int64 {
	f.t.Helper()
	last, err := f.store.Phases(f.t.Context(), ref, object(uid), ring)
	if err != nil {
		f.t.Fatal(err)
	}
	return last
}

// history returns the events of the stream as lines, without revisions.
func (f *fixture) history() []string {
	f.t.Helper()
	var out []string
	ids := map[string]bool{}
	for _, m := range f.messages() {
		e, l, err := contract.Decode[contract.Lifecycle](m.Data)
		if err != nil {
			f.t.Fatal(err)
		}
		if e.ID != m.Header.Get(contract.HeaderMsgID) || ids[e.ID] {
			f.t.Errorf("id %q, header %q, seen before: %v", e.ID, m.Header.Get(contract.HeaderMsgID), ids[e.ID])
		}
		ids[e.ID] = true
		line := l.Object.UID + " " + string(l.Event)
		if l.Phase != nil {
			line += fmt.Sprintf(" %d:%s", l.Phase.Seq, l.Phase.To)
		}
		if l.Condition != nil {
			line += " " + l.Condition.Type + "=" + l.Condition.After.Status
		}
		if l.Gap {
			line += " gap"
		}
		out = append(out, line)
	}
	return out
}

func (f *fixture) messages() []*jetstream.RawStreamMsg {
	f.t.Helper()
	return natstest.Messages(f.t, f.conn.JetStream(), contract.StreamLifecycle)
}

func (f *fixture) wantHistory(want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.history()); diff != "" {
		f.t.Errorf("history (-want +got):\n%s", diff)
	}
}

// ring returns entries for a range of seq.
func ring(from, to int64) []transition.Entry {
	var out []transition.Entry
	for seq := from; seq <= to; seq++ {
		out = append(out, transition.Entry{Seq: seq, Time: metav1.NewTime(start), To: fmt.Sprintf("P%d", seq)})
	}
	return out
}

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
	for _, m := range f.messages() {
		e, err := contract.DecodeEnvelope(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if e.Sequence <= last {
			t.Errorf("sequence %q after %q", e.Sequence, last)
		}
		last = e.Sequence
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

func TestHealthyFollowsProbe(t *testing.T) {
	f := newFixture(t)
	const timeout = 10 * time.Second
	if f.store.Healthy(timeout) {
		t.Error("healthy before the first probe")
	}
	if err := f.store.Probe(t.Context()); err != nil || !f.store.Healthy(timeout) {
		t.Errorf("error %v, healthy %v", err, f.store.Healthy(timeout))
	}
	f.store.Invalidate()
	if f.store.Healthy(timeout) {
		t.Error("healthy although it must be probed again")
	}
	if err := f.conn.JetStream().DeleteKeyValue(t.Context(), contract.BucketStatus); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.Load(t.Context(), ref); err == nil || f.store.Healthy(timeout) {
		t.Errorf("error %v, healthy %v", err, f.store.Healthy(timeout))
	}
	if err := bus.Bootstrap(t.Context(), f.conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Probe(t.Context()); err != nil || !f.store.Healthy(timeout) {
		t.Errorf("error %v, healthy %v", err, f.store.Healthy(timeout))
	}
	if err := f.conn.JetStream().DeleteKeyValue(t.Context(), contract.BucketStatus); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Probe(t.Context()); err == nil || !f.store.Healthy(timeout) {
		t.Errorf("error %v, healthy %v, want healthy after the first failure", err, f.store.Healthy(timeout))
	}
	f.clock.SetTime(start.Add(timeout))
	if f.store.Healthy(timeout) {
		t.Error("healthy although probes have failed for long")
	}
}
