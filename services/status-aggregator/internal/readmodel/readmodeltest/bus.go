package readmodeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// Cluster is the cluster name in subjects.
const Cluster = "test"

// Start is the base time of test messages.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Bus is a real NATS server with the streams.
type Bus struct {
	testing.TB
	NATS *busauth.Server
	// Conn is the connection of the test, with all permissions.
	*bus.Conn
	// Own is the connection of the aggregator, with the permissions of deploy/nats: a test that needs more fails.
	Own *bus.Conn

	sent int
}

// NewBus starts a server for the test.
func NewBus(t testing.TB) *Bus {
	t.Helper()
	b := &Bus{TB: t, NATS: busauth.Start(t, busauth.Names{Cluster: Cluster, Namespace: "team-a", Tool: "tool"})}
	t.Cleanup(func() {
		if violations := b.NATS.Violations(); len(violations) > 0 {
			t.Errorf("the bus refused the aggregator: %q", violations)
		}
	})
	b.Conn, b.Own = b.connect(busauth.Admin), b.connect("status-aggregator")
	b.Bootstrap()
	return b
}

func (b *Bus) connect(identity string) *bus.Conn {
	b.Helper()
	conn, err := bus.Connect(bus.Config{URL: b.NATS.As(identity), Name: identity})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return conn
}

// Bootstrap creates the streams and the bucket, as soon as the server is reachable.
func (b *Bus) Bootstrap() {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		return bus.Bootstrap(b.Context(), b.JetStream(), bus.DefaultParams())
	})
}

// Ref returns the reference of an object in subjects.
func Ref(o contract.Object) contract.Ref {
	kind, _ := contract.KindFor(o.Group, o.Kind)
	return contract.Ref{Cluster: Cluster, Namespace: o.Namespace, Kind: kind, Name: o.Name}
}

// Event publishes a lifecycle event and returns its sequence.
func (b *Bus) Event(l contract.Lifecycle) uint64 {
	b.Helper()
	subject, err := contract.LifecycleSubject(Ref(l.Object), l.Event)
	if err != nil {
		b.Fatal(err)
	}
	b.sent++
	at := Start.Add(time.Duration(b.sent) * time.Minute)
	body, err := contract.Encode(contract.Event{
		ID: fmt.Sprintf("%s.%d", l.Object.UID, b.sent), Source: contract.Source(Cluster, "status-aggregator"),
		Subject: l.Object.Namespace + "/" + l.Object.Name, Time: at,
	}, l)
	if err != nil {
		b.Fatal(err)
	}
	return b.Raw(subject, body)
}

// Raw publishes any message and returns its sequence. After a restart of the server it waits
// until the server is reachable.
func (b *Bus) Raw(subject string, body []byte) uint64 {
	b.Helper()
	var ack *jetstream.PubAck
	expect.Eventually(b, expect.Long, func() error {
		var err error
		ack, err = b.JetStream().Publish(b.Context(), subject, body)
		if err != nil && !errors.Is(err, nats.ErrReconnectBufExceeded) { // the message was not sent
			b.Fatal(err)
		}
		return err
	})
	return ack.Sequence
}

// PublishChange publishes that a condition changed.
func (b *Bus) PublishChange(o contract.Object, event contract.LifecycleEvent, before, after contract.Condition) uint64 {
	b.Helper()
	return b.Event(contract.Lifecycle{Object: o, Event: event, Condition: &contract.ConditionChange{
		Type: after.Type, Before: &before, After: after,
	}})
}

// Condition returns a condition that changed the given number of minutes after [Start].
func Condition(kind, status, reason string, minutes int) contract.Condition {
	return contract.Condition{
		Type: kind, Status: status, Reason: reason, Message: "because of " + reason,
		LastTransitionTime: Start.Add(time.Duration(minutes) * time.Minute),
	}
}

// Entry writes a status entry of the aggregator into the bucket.
func (b *Bus) Entry(e contract.StatusEntry) {
	b.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := b.Bucket().Put(b.Context(), Ref(e.Object).String(), raw); err != nil {
		b.Fatal(err)
	}
}

// Bucket returns the status bucket.
func (b *Bus) Bucket() jetstream.KeyValue {
	b.Helper()
	kv, err := b.JetStream().KeyValue(b.Context(), contract.BucketStatus)
	if err != nil {
		b.Fatal(err)
	}
	return kv
}

// Observation publishes an observation.
func (b *Bus) Observation(o contract.Observation) {
	b.Helper()
	subject, err := contract.ObservationSubject(Ref(o.Object), o.Observer.Name)
	if err != nil {
		b.Fatal(err)
	}
	b.sent++
	body, err := contract.Encode(contract.Event{
		ID: fmt.Sprintf("obs.%d", b.sent), Source: contract.Source(Cluster, o.Observer.Name), Time: Start,
	}, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Raw(subject, body)
}

// Observation returns an observation of a Superset with one of two replicas.
func Observation(o contract.Object) contract.Observation {
	return contract.Observation{
		Object: o, Observer: contract.Observer{Name: "superset-operator", Instance: "superset-operator-0", Version: "1.2.3"},
		Epoch: Start.UnixMilli(), Seq: 7, ObservedAt: Start, ValidForSeconds: 30, ObservedGeneration: o.Generation,
		DeployedVersion: "6.0.0", Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
		Units: []contract.Unit{{
			Name: "webServer", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
			Desired: 2, Current: 2, Updated: 2, Ready: 1, Available: 1,
			Failures: []contract.Failure{{Class: contract.FailureCrashLoop, Count: 1, Examples: []string{"web-0"}, Message: "exit code 1"}},
		}},
		Jobs:         []contract.Job{{Name: "migrate", State: contract.JobComplete}},
		Dependencies: []contract.Dependency{{Kind: "Service", Name: "db", Ready: false, Message: "no endpoints"}},
	}
}
