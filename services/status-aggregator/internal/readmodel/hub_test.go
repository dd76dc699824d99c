package readmodel_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel/readmodeltest"
)

func object(namespace, name string) contract.Object {
	return contract.Object{
		GroupVersionKind: contract.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"},
		Namespace:        namespace, Name: name, UID: "uid-" + name, Generation: 1,
	}
}

func lifecycleEvent(o contract.Object) contract.Lifecycle {
	return contract.Lifecycle{Object: o, Event: contract.EventDegraded, Condition: &contract.ConditionChange{Type: "Degraded", After: degraded}}
}

func subscribe(t *testing.T, h *readmodel.Hub, f readmodel.Filter, after *uint64) *readmodel.Subscription {
	t.Helper()
	s, err := h.Subscribe(t.Context(), f, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// nextEvent reads the next live event.
func nextEvent(t *testing.T, s *readmodel.Subscription) readmodel.Event {
	t.Helper()
	select {
	case e := <-s.Events():
		return e
	case <-s.Done():
		t.Fatalf("the subscription ended: %v", s.Cause())
	case <-t.Context().Done():
	}
	return readmodel.Event{}
}

// replayed returns the names of the missed events.
func replayed(t *testing.T, s *readmodel.Subscription, after uint64) []string {
	t.Helper()
	var out []string
	if err := s.Replay(t.Context(), after, func(e readmodel.Event) error {
		out = append(out, fmt.Sprintf("%s@%d", e.Ref.Name, e.Sequence))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHubFiltersLiveEvents(t *testing.T) {
	b := readmodeltest.NewBus(t)
	h := b.NewHub(0)
	all, one := subscribe(t, h, readmodel.Filter{}, nil), subscribe(t, h, readmodel.Filter{Namespace: "team-b", Name: "b"}, nil)
	b.Event(lifecycleEvent(object("team-a", "a")))
	subject, err := contract.LifecycleSubject(readmodeltest.Ref(object("team-b", "b")), contract.EventDegraded)
	if err != nil {
		t.Fatal(err)
	}
	b.Raw(subject, []byte("no event"))
	forged := lifecycleEvent(object("team-a", "a"))
	body, err := contract.Encode(contract.Event{ID: "forged", Source: "x", Time: readmodeltest.Start}, forged)
	if err != nil {
		t.Fatal(err)
	}
	b.Raw(subject, body) // reports that it is about b, but is about a
	last := b.Event(lifecycleEvent(object("team-b", "b")))
	if e := nextEvent(t, all); e.Ref.Name != "a" || e.Sequence != 1 {
		t.Errorf("got %s at %d first", e.Ref.Name, e.Sequence)
	}
	for name, s := range map[string]*readmodel.Subscription{"all": all, "one": one} {
		if e := nextEvent(t, s); e.Ref.Name != "b" || e.Sequence != last || e.Lifecycle.Condition.After.Reason != "CrashLoop" {
			t.Errorf("%s: got %s at %d", name, e.Ref.Name, e.Sequence)
		}
	}
	expect.Eventually(t, expect.Long, func() error {
		if n, ok := one.Position(); !ok || n != last {
			return fmt.Errorf("settled at %d, %v", n, ok)
		}
		return nil
	})
}

func TestHubReplaysThenStreams(t *testing.T) {
	b := readmodeltest.NewBus(t)
	for i := range 5 {
		b.Event(lifecycleEvent(object("team-a", fmt.Sprintf("n%d", i))))
	}
	h := b.NewHub(0)
	after := uint64(2)
	s := subscribe(t, h, readmodel.Filter{}, &after)
	b.Event(lifecycleEvent(object("team-a", "live")))
	if got := replayed(t, s, after); !slices.Equal(got, []string{"n2@3", "n3@4", "n4@5"}) || s.Head != 5 {
		t.Errorf("missed %q, head %d", got, s.Head)
	}
	if e := nextEvent(t, s); e.Ref.Name != "live" || e.Sequence != 6 {
		t.Errorf("live begins with %s at %d", e.Ref.Name, e.Sequence)
	}
	filtered := subscribe(t, h, readmodel.Filter{Name: "n3"}, &after)
	b.Event(lifecycleEvent(object("team-a", "n3"))) // delivered live, although it is already in the stream
	if got := replayed(t, filtered, after); !slices.Equal(got, []string{"n3@4"}) {
		t.Errorf("missed %q of one object", got)
	}
}

func TestHubRejectsExpiredSequence(t *testing.T) {
	b := readmodeltest.NewBus(t)
	for range 5 {
		b.Event(lifecycleEvent(object("team-a", "a")))
	}
	stream, err := b.JetStream().Stream(t.Context(), contract.StreamLifecycle)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(4)); err != nil { // 4 and 5 stay
		t.Fatal(err)
	}
	h := b.NewHub(0)
	for after, expired := range map[uint64]bool{0: true, 2: true, 3: false, 5: false, 6: true} {
		s, err := h.Subscribe(t.Context(), readmodel.Filter{}, &after)
		if errors.Is(err, readmodel.ErrExpired) != expired || (err != nil) != expired {
			t.Errorf("resume behind %d: %v", after, err)
		}
		if s != nil {
			s.Close()
		}
	}
}

// A consumer that does not read is disconnected; the others receive all events.
func TestHubDisconnectsSlowReader(t *testing.T) {
	b := readmodeltest.NewBus(t)
	h := b.NewHub(3)
	slow, fast := subscribe(t, h, readmodel.Filter{}, nil), subscribe(t, h, readmodel.Filter{}, nil)
	for range 10 {
		want := b.Event(lifecycleEvent(object("team-a", "a")))
		if e := nextEvent(t, fast); e.Sequence != want {
			t.Fatalf("got %d, want %d", e.Sequence, want)
		}
	}
	<-slow.Done()
	if !errors.Is(slow.Cause(), readmodel.ErrSlowConsumer) {
		t.Errorf("cut off by %v", slow.Cause())
	}
	for want := uint64(1); want <= 3; want++ { // earlier events are in order, so the consumer can resume after them
		if e := <-slow.Events(); e.Sequence != want {
			t.Errorf("has %d, want %d", e.Sequence, want)
		}
	}
}

func TestHubEndsSubscriptionsOnBusOutage(t *testing.T) {
	b := readmodeltest.NewBus(t)
	h := b.NewHub(0)
	s := subscribe(t, h, readmodel.Filter{}, nil)
	before := b.Event(lifecycleEvent(object("team-a", "a")))
	nextEvent(t, s)
	b.NATS.Stop()
	<-s.Done()
	if !errors.Is(s.Cause(), readmodel.ErrBusUnavailable) {
		t.Errorf("ended by %v", s.Cause())
	}
	expect.Eventually(t, expect.Long, func() error {
		if _, err := h.Subscribe(t.Context(), readmodel.Filter{}, nil); !errors.Is(err, readmodel.ErrBusUnavailable) {
			return errors.Join(errors.New("subscribed although the bus is unavailable"), err)
		}
		return nil
	})
	b.NATS.Start()
	b.WaitForHub(h)
	b.Event(lifecycleEvent(object("team-a", "missed")))
	s = subscribe(t, h, readmodel.Filter{}, &before)
	got := replayed(t, s, before)
	if len(got) == 0 {
		got = append(got, fmt.Sprintf("%s@%d", nextEvent(t, s).Ref.Name, before+1))
	}
	if want := fmt.Sprintf("missed@%d", before+1); got[0] != want {
		t.Errorf("resumed with %q, want %s", got, want)
	}
	b.NATS.Wipe()
	b.Bootstrap()
	b.WaitForHub(h)
	if _, err := h.Subscribe(t.Context(), readmodel.Filter{}, &before); !errors.Is(err, readmodel.ErrExpired) {
		t.Errorf("resumed in a stream that was re-created: %v", err)
	}
}
