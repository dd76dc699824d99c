package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

const subject = "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"

// purgerEnv is a tombstonePurger with a real server.
type purgerEnv struct {
	t          *testing.T
	conn       *bus.Conn
	tombstones *tombstonePurger
	metrics    *metrics.Metrics
	model      *model.Store
	done       atomic.Int32
}

func newPurgerEnv(t *testing.T, options ...natstest.Option) *purgerEnv {
	t.Helper()
	srv := natstest.Start(t, options...)
	conn, err := bus.Connect(bus.Config{URL: strings.Replace(srv.URL(), "//", "//aggregator:x@", 1), Name: "aggregator"})
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Bootstrap(t.Context(), conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	store := model.NewStore()
	b := &purgerEnv{t: t, conn: conn, tombstones: newTombstonePurger(conn, m, store.IsCurrent), metrics: m, model: store}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.tombstones.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, conn.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return b
}

// store stores a message in the stream and returns its sequence.
func (b *purgerEnv) store(body string) uint64 {
	b.t.Helper()
	ack, err := b.conn.JetStream().Publish(b.t.Context(), subject, []byte(body))
	if err != nil {
		b.t.Fatal(err)
	}
	return ack.Sequence
}

func (b *purgerEnv) enqueue(sequence uint64) {
	b.tombstones.enqueue(subject, model.Position{Sequence: sequence}, func() { b.done.Add(1) })
}

// last returns the body of the subject's message; empty for none.
func (b *purgerEnv) last() string {
	b.t.Helper()
	stream, err := b.conn.JetStream().Stream(b.t.Context(), contract.StreamObservations)
	if err != nil {
		b.t.Fatal(err)
	}
	m, err := stream.GetLastMsgForSubject(b.t.Context(), subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return ""
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return string(m.Data)
}

// want waits for an outcome. done must have been called unless the purge must be requested again.
func (b *purgerEnv) want(outcome, body string, done int32) {
	b.t.Helper()
	expect.Eventually(b.t, expect.Long, func() error {
		if n := testutil.ToFloat64(b.metrics.Purged.WithLabelValues(outcome)); n != 1 {
			return fmt.Errorf("%v subjects were %s", n, outcome)
		}
		return nil
	})
	if got := b.last(); got != body {
		b.t.Errorf("the subject holds %q, want %q", got, body)
	}
	if got := b.done.Load(); got != done {
		b.t.Errorf("done was called %d times, want %d", got, done)
	}
}

func TestTombstonePurger(t *testing.T) {
	t.Run("purges a received tombstone", func(t *testing.T) {
		b := newPurgerEnv(t)
		b.enqueue(b.store("old"))
		b.want("purged", "", 1)
	})
	t.Run("keeps a newer message", func(t *testing.T) {
		b := newPurgerEnv(t)
		tombstone := b.store("old")
		b.store("of a successor")
		b.enqueue(tombstone)
		b.want("purged", "of a successor", 1)
	})
	t.Run("keeps messages of a stream in which the sequence is unknown", func(t *testing.T) {
		b := newPurgerEnv(t)
		b.enqueue(b.store("new") + 100)
		b.want("dropped", "new", 0)
	})
	t.Run("distinguishes a missing permission from an outage", func(t *testing.T) {
		b := newPurgerEnv(t, func(o *natstest.Options) {
			o.Users = []*natstest.User{{Username: "aggregator", Password: "x", Permissions: &natstest.Permissions{
				Publish: &natstest.SubjectPermission{Deny: []string{"$JS.API.STREAM.PURGE.>"}},
			}}}
		})
		b.enqueue(b.store("old"))
		b.want("denied", "old", 1)
	})
}

// The stream is re-created between the read of a position and the request, and has more messages than the former one.
func TestTombstonePurgerIgnoresFormerStream(t *testing.T) {
	b := newPurgerEnv(t)
	b.model.StreamRecreated()
	b.enqueue(b.store("of a successor"))
	b.want("dropped", "of a successor", 0)
}

func TestTombstonePurgerRepeatsFailedPurge(t *testing.T) {
	b := newPurgerEnv(t)
	js := b.conn.JetStream()
	if err := js.DeleteStream(t.Context(), contract.StreamObservations); err != nil {
		t.Fatal(err)
	}
	b.enqueue(1)
	expect.Eventually(t, expect.Long, func() error {
		if n := b.tombstones.queue.NumRequeues(purgeRequest{subject, model.Position{Sequence: 1}}); n == 0 {
			return errors.New("the failed purge is not repeated")
		}
		return nil
	})
	if err := bus.Bootstrap(t.Context(), js, bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	b.store("old")
	b.want("purged", "", 1)
}

// A resync requests all pending purges again.
func TestTombstonePurgerKeepsEachRequestOnce(t *testing.T) {
	s := newTombstonePurger(nil, nil, nil)
	t.Cleanup(s.queue.ShutDown)
	const objects = 10_000
	for range 3 {
		for n := range objects {
			s.enqueue(subject, model.Position{Sequence: uint64(n)}, func() {})
		}
	}
	if n := s.queue.Len(); n != objects {
		t.Errorf("%d requests are queued, want %d", n, objects)
	}
	if n := len(s.done); n != objects {
		t.Errorf("%d requests are kept, want %d", n, objects)
	}
}
