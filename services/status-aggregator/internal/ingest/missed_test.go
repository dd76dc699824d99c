package ingest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

// startIngest reads a real bus until the test ends.
func startIngest(t *testing.T) (*Ingest, *bus.Conn) {
	t.Helper()
	conn, err := bus.Connect(bus.Config{URL: natstest.Start(t).URL(), Name: "aggregator"})
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
	i := New(Config{
		Bus: conn, Cluster: cluster, Kinds: managed(t), Model: model.NewStore(), Clock: clock.RealClock{}, Metrics: m,
		Liveness: liveness.NewTracker(0, liveness.DefaultInactivity, observer),
		OnObject: func(contract.Ref) {}, OnRestart: func() {}, OnCaughtUp: func() {},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- i.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, conn.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return i, conn
}

// pauseConsumers makes the consumers of a stream send heartbeats only, as they do when their server is stuck.
func pauseConsumers(t *testing.T, js jetstream.JetStream, name string) {
	t.Helper()
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	consumers := stream.ListConsumers(t.Context())
	for info := range consumers.Info() {
		if _, err := js.PauseConsumer(t.Context(), name, info.Name, time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
	}
	if err := consumers.Err(); err != nil {
		t.Error(err)
	}
}

func TestReadersRestartIfHeartbeatsAreNotDelivered(t *testing.T) {
	i, conn := startIngest(t)
	expect.Eventually(t, expect.Long, func() error {
		if !i.CaughtUp() {
			return errors.New("not caught up")
		}
		return nil
	})
	pauseConsumers(t, conn.JetStream(), contract.StreamHeartbeats)
	message := bus.Message{Subject: "flotilla.hb.v1.prod." + observer, ID: "1", Body: []byte("rejected")}
	ack, err := conn.Publish(t.Context(), message)
	if err != nil {
		t.Fatal(err)
	}
	delivered := func() error {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.delivered != ack.Sequence {
			return errors.New("the heartbeat was not delivered")
		}
		return nil
	}
	for probe := range maxUndelivered {
		if delivered() == nil {
			t.Fatalf("the consumer is not paused at probe %d", probe)
		}
		if missed, err := i.HasMissed(t.Context(), observer); err != nil || !missed {
			t.Fatalf("probe %d: missed %t, %v", probe, missed, err)
		}
	}
	expect.Eventually(t, expect.Long, delivered)
}

// Heartbeats that are rejected, or delivered between two probes, restart nothing.
func TestDeliveredHeartbeatsRestartNoReader(t *testing.T) {
	i := newIngest(t, liveness.NewTracker(0, liveness.DefaultInactivity, observer))
	for sequence := range uint64(4) {
		if i.isStuck(observer, sequence+1) {
			t.Error("the readers restart although a heartbeat was delivered in between")
		}
		i.recordDelivered(sequence + 1)
		if i.isStuck(observer, sequence+1) {
			t.Error("the readers restart for a delivered heartbeat")
		}
	}
	if i.isStuck(observer, 5) || i.isStuck("engine-operator", 5) || !i.isStuck(observer, 6) {
		t.Error("the readers do not restart after two probes for one observer")
	}
}
