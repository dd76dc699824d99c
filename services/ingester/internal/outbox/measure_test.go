package outbox_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"
	testclock "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
)

// busyStream is a stream during whose publishing of an event a second passes, and two more rows of the object arrive.
type busyStream struct {
	jetstream.JetStream
	f     *fixture
	clock *testclock.FakeClock
}

func (s busyStream) PublishMsgAsync(msg *nats.Msg, options ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	_, err := s.f.db.ExecContext(context.WithoutCancel(s.f.Context()), "INSERT INTO outbox (kind, namespace, name, uid, generation,"+
		" res_version, operation, committed_at) SELECT 'model', 'default', 'a', 'u-a', 1, 1, 'updated', UTC_TIMESTAMP(6) UNION ALL"+
		" SELECT 'model', 'default', 'a', 'u-a', 1, 2, 'updated', UTC_TIMESTAMP(6)")
	if err != nil {
		s.f.Error(err)
	}
	s.clock.Step(time.Second)
	return s.JetStream.PublishMsgAsync(msg, options...)
}

// TestOutboxTableIsBoundedWhilePublishing has rows that arrive faster than they are published, so the relay never idles.
func TestOutboxTableIsBoundedWhilePublishing(t *testing.T) {
	f := newFixture(t)
	f.add("a", 1, contract.ChangeUpdated)
	clock := testclock.NewFakeClock(time.Now())
	f.relay(func(c *outbox.Config) {
		c.MaxRows, c.Clock, c.JetStream = 10, clock, busyStream{f.js, f, clock}
	})
	const bounded = 3 // so that more than the first measurement is required
	expect.Eventually(t, expect.Long, func() error {
		compacted, published := testutil.ToFloat64(f.metrics.Compacted), testutil.ToFloat64(f.metrics.Published)
		if compacted < bounded*10 {
			return fmt.Errorf("%v events were dropped, want at least %d; %v were published", compacted, bounded*10, published)
		}
		return nil
	})
	if testutil.ToFloat64(f.metrics.Depth) == 0 || testutil.ToFloat64(f.metrics.OutboxLag) == 0 {
		t.Error("outbox_rows or outbox_lag_seconds was not measured")
	}
}

// deadStream is a stream that accepts no events.
type deadStream struct{ jetstream.JetStream }

func (deadStream) PublishMsgAsync(*nats.Msg, ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return nil, nats.ErrConnectionClosed
}

// TestLagIncreasesAfterClockWentBack has an event from the future of a clock that went back, so that its age is negative.
func TestLagIncreasesAfterClockWentBack(t *testing.T) {
	f := newFixture(t)
	f.add("a", 1, contract.ChangeUpdated)
	if _, err := f.db.ExecContext(t.Context(), "UPDATE outbox SET committed_at = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR"); err != nil {
		t.Fatal(err)
	}
	clock := testclock.NewFakeClock(time.Now())
	f.relay(func(c *outbox.Config) { c.Clock, c.JetStream = clock, deadStream{f.js} })
	expect.Eventually(t, expect.Long, func() error {
		clock.Step(time.Minute)
		if lag := testutil.ToFloat64(f.metrics.OutboxLag); lag < 600 {
			return fmt.Errorf("the lag is %v s, want at least 600", lag)
		}
		return nil
	})
}
