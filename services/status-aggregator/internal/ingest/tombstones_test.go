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
)

const subject = "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"

// purgerEnv is a tombstonePurger with a real server.
type purgerEnv struct {
	t          *testing.T
	conn       *bus.Conn
	tombstones *tombstonePurger
	metrics    *metrics.Metrics
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
	b := &purgerEnv{t: t, conn: conn, tombstones: newTombstonePurger(conn, m), metrics: m}
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
	b.tombstones.enqueue(subject, sequence, func() { b.done.Add(1) })
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

func TestTombstonePurgerIgnoresFormerStream(t *testing.T) {
	s := newTombstonePurger(nil, nil)
	done := func() { t.Error("a purge that was not made is done") }
	s.enqueue(subject, 1, done)
	s.restart()
	r, _ := s.queue.Get()
	if r.streamGeneration == s.now() {
		t.Error("a tombstone of a former stream is purged in the current one")
	}
	s.finish(r, s.take(r))
}

// A resync requests all pending purges again.
func TestTombstonePurgerKeepsEachRequestOnce(t *testing.T) {
	s := newTombstonePurger(nil, nil)
	const objects = 10_000
	for range 3 {
		for n := range objects {
			s.enqueue(subject, uint64(n), func() {})
		}
	}
	if n := s.queue.Len(); n != objects {
		t.Errorf("%d requests are queued, want %d", n, objects)
	}
	if n := len(s.done); n != objects {
		t.Errorf("%d requests are kept, want %d", n, objects)
	}
}
