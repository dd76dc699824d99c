package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/ingest"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

const (
	operator = "superset-operator"
	me       = "status-aggregator"
)

var ref = contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "main.v2"}

func object(uid string) contract.Object {
	gvk, _ := contract.Lookup(ref.Kind)
	return contract.Object{GroupVersionKind: gvk, Namespace: ref.Namespace, Name: ref.Name, UID: uid, Generation: 1}
}

// service connects with an identity, like its service.
func (f fixture) service(identity string) *bus.Conn {
	f.Helper()
	conn, err := bus.Connect(bus.Config{URL: f.As(identity), Name: identity})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			f.Error(err)
		}
	})
	return conn
}

func (f fixture) run(run func(context.Context) error) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	f.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			f.Error(err)
		}
	})
}

// The aggregator's components use all features of the bus under the
// shipped permissions, and their messages match the published document.
func TestAggregatorHasLeastPrivilege(t *testing.T) {
	f := newFixture(t)
	f.bus("bootstrap")
	review := f.review()
	tap := f.Tap(t)
	conn := f.service(me)
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}

	ingester := f.reads(conn, m)
	f.runOperator(ingester)
	f.writes(conn, m)
	f.serves(conn)
	if drifts, err := bus.Verify(t.Context(), conn.JetStream(), bus.Params{}); err != nil || len(drifts) > 0 {
		t.Errorf("drifts %v, error %v", drifts, err)
	}
	f.run(bus.NewHeartbeatPublisher(conn, "prod", contract.Observer{Name: me, Instance: "pod"}, func() int64 { return 1 }).Run)
	if err := ingester.PurgeTombstone(ref, model.Position{Sequence: 1}, func() {}); err != nil {
		t.Error(err)
	}

	review.seen(t, "flotilla.obs", "flotilla.hb", "flotilla.lifecycle", "flotilla.dlq", "$KV.FLOTILLA_STATUS")
	for _, stream := range []string{contract.StreamObservations, contract.StreamHeartbeats, "KV_" + contract.BucketStatus} {
		f.stopTail(conn, stream)
	}
	// Flow control replies occur only under high load.
	flowControl := map[string]bool{"$JS.FC.KV_FLOTILLA_STATUS.>": true, "$JS.FC.*.*.KV_FLOTILLA_STATUS.>": true}
	expect.Eventually(t, expect.Long, func() error {
		for _, permission := range tap.Unused(t, me) {
			if !flowControl[permission] {
				return fmt.Errorf("%s does not need %s", me, permission)
			}
		}
		return nil
	})
	f.WantNoViolations(t)
}

// reads starts the subscriptions to the operators.
func (f fixture) reads(conn *bus.Conn, m *metrics.Metrics) *ingest.Ingest {
	f.Helper()
	kinds, err := registry.Managed()
	if err != nil {
		f.Fatal(err)
	}
	caughtUp := make(chan struct{}, 10)
	in := ingest.New(ingest.Config{
		Bus: conn, Cluster: "prod", Kinds: kinds, Model: model.NewStore(), Liveness: liveness.NewTracker(time.Second, liveness.DefaultInactivity, operator),
		Clock: clock.RealClock{}, Metrics: m,
		OnObject: func(contract.Ref) {}, OnRestart: func() {}, OnCaughtUp: func() { caughtUp <- struct{}{} },
	})
	f.run(in.Start)
	select {
	case <-caughtUp:
	case <-time.After(expect.Long):
		f.Fatal("it did not catch up")
	}
	return in
}

// runOperator publishes as an operator: an observation, heartbeats, and an invalid message.
func (f fixture) runOperator(ingester *ingest.Ingest) {
	f.Helper()
	conn := f.service(operator)
	publisher := bus.NewPublisher(conn)
	observer := contract.Observer{Name: operator, Instance: "pod"}
	observations := bus.NewObservationPublisher(publisher, "prod", observer, nil)
	f.run(publisher.Run)
	f.run(bus.NewHeartbeatPublisher(conn, "prod", observer, observations.Epoch).Run)
	observations.Publish(ref.Kind, contract.Observation{
		Object: object("u"), Phase: "Running", Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
	})
	invalid := &nats.Msg{
		Subject: "flotilla.obs.v1.prod.team-a.superset.poison." + operator, Data: []byte("hello"),
		Header: nats.Header{"Nats-Msg-Id": {"p"}, "Test-Poison": {"true"}},
	}
	if _, err := conn.JetStream().PublishMsg(f.Context(), invalid); err != nil {
		f.Fatal(err)
	}
	expect.Eventually(f, expect.Long, func() error {
		_, err := ingester.HasMissed(f.Context(), operator)
		return err
	})
}

// writes keeps an object's entry and history from its creation to its deletion.
func (f fixture) writes(conn *bus.Conn, m *metrics.Metrics) {
	f.Helper()
	ctx, now := f.Context(), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	store := history.New(conn, "prod", clock.RealClock{}, m)
	check := func(err error) {
		f.Helper()
		if err != nil {
			f.Fatal(err)
		}
	}
	for i, status := range []string{"False", "True"} {
		ring := []transition.Entry{{Seq: int64(i + 1), From: "Initializing", To: "Running", Reason: "Ready"}}
		ring[0].Time.Time = now
		last, err := store.Phases(ctx, ref, object("u"), ring)
		check(err)
		_, err = store.Put(ctx, ref, contract.StatusEntry{
			Object: object("u"), Phase: "Running", UpdatedAt: now, LastTransitionSeq: last,
			Conditions: []contract.Condition{{
				Type: conditions.TypeAvailable, Status: status, Reason: conditions.ReasonAllComponentsReady, LastTransitionTime: now,
			}},
			Provenance: &contract.Provenance{
				Observer: contract.Observer{Name: operator, Instance: "pod"}, Epoch: 1, Seq: 1, StreamSequence: 1, ReceivedAt: now,
			},
		}, conditions.State{UID: "u"})
		check(err)
		check(store.Flush(ctx, ref))
	}
	check(store.Probe(ctx))
	if keys, err := store.Keys(ctx); err != nil || len(keys) != 1 {
		f.Errorf("keys %v, %v", keys, err)
	}
	check(store.Delete(ctx, ref, false))
}

// serves reads for the HTTP API: the history, new events, and the latest observation.
func (f fixture) serves(conn *bus.Conn) {
	f.Helper()
	hub := readmodel.NewHub(readmodel.HubConfig{Bus: conn, Cluster: "prod", Clock: clock.RealClock{}, Log: logr.Discard()})
	f.run(hub.Start)
	var subscription *readmodel.Subscription
	expect.Eventually(f, expect.Long, func() (err error) {
		subscription, err = hub.Subscribe(f.Context(), readmodel.Filter{}, nil)
		return err
	})
	defer subscription.Close()
	count := 0
	err := subscription.Replay(f.Context(), 0, func(readmodel.Event) error { count++; return nil })
	if err != nil || count == 0 {
		f.Errorf("%d events of the past, %v", count, err)
	}
	stream, err := conn.JetStream().Stream(f.Context(), contract.StreamObservations)
	if err != nil {
		f.Fatal(err)
	}
	expect.Eventually(f, expect.Long, func() error {
		_, err := stream.GetLastMsgForSubject(f.Context(), "flotilla.obs.v1.prod.team-a.superset.main_v2."+operator)
		return err
	})
}

// stopTail reads a stream until its snapshot is complete, and closes the subscription.
func (f fixture) stopTail(conn *bus.Conn, stream string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), expect.Long)
	defer cancel()
	err := bus.Tail(ctx, conn.JetStream(), bus.TailConfig{Stream: stream, Filters: map[string][]string{contract.StreamObservations: {"flotilla.obs.v1.prod.>"}, contract.StreamHeartbeats: {"flotilla.hb.v1.prod.>"}, "KV_" + contract.BucketStatus: {"$KV.FLOTILLA_STATUS.prod.>"}}[stream], OnMessage: func(bus.Delivery) {}, OnSnapshot: cancel})
	if err != nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f.Errorf("follow %s: %v, %v", stream, err, ctx.Err())
	}
}

// A client without the permission to write gets an error, and nothing is stored.
func TestOperatorCannotWriteHistory(t *testing.T) {
	f := newFixture(t)
	f.bus("bootstrap")
	conn := f.service(operator)
	_, err := conn.Publish(t.Context(), bus.Message{Subject: "flotilla.lifecycle.v1.prod.team-a.superset.main.deleted", ID: "1", Body: []byte("{}")})
	if !errors.Is(err, bus.ErrDenied) {
		t.Errorf("error is %v, want %v", err, bus.ErrDenied)
	}
	if v := f.Violations(); len(v) == 0 || !strings.Contains(v[0], operator) {
		t.Errorf("the server reported %v", v)
	}
}
