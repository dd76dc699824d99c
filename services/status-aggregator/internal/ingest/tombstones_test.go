package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

func (b *purgerEnv) want(outcome, body string) {
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
}

func TestTombstonePurger(t *testing.T) {
	t.Run("purges a received tombstone", func(t *testing.T) {
		b := newPurgerEnv(t)
		b.tombstones.enqueue(subject, b.store("old"))
		b.want("purged", "")
	})
	t.Run("keeps a newer message", func(t *testing.T) {
		b := newPurgerEnv(t)
		tombstone := b.store("old")
		b.store("of a successor")
		b.tombstones.enqueue(subject, tombstone)
		b.want("purged", "of a successor")
	})
	t.Run("keeps messages of a stream in which the sequence is unknown", func(t *testing.T) {
		b := newPurgerEnv(t)
		b.tombstones.enqueue(subject, b.store("new")+100)
		b.want("dropped", "new")
	})
	t.Run("distinguishes a missing permission from an outage", func(t *testing.T) {
		b := newPurgerEnv(t, func(o *natstest.Options) {
			o.Users = []*natstest.User{{Username: "aggregator", Password: "x", Permissions: &natstest.Permissions{
				Publish: &natstest.SubjectPermission{Deny: []string{"$JS.API.STREAM.PURGE.>"}},
			}}}
		})
		b.tombstones.enqueue(subject, b.store("old"))
		b.want("denied", "old")
	})
}

func TestTombstonePurgerIgnoresFormerStream(t *testing.T) {
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s := newTombstonePurger(nil, m)
	for range purgeQueueSize + 1 {
		s.enqueue(subject, 1)
	}
	if n := testutil.ToFloat64(m.Purged.WithLabelValues("dropped")); n != 1 {
		t.Errorf("got %v dropped, want the one over the limit", n)
	}
	s.restart()
	if r := <-s.queue; r.streamGeneration == s.now() {
		t.Error("a tombstone of a former stream is purged in the current one")
	}
}
