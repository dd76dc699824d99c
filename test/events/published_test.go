package events

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// Messages of the publishers in this repository match the document, including headers.
// The tests of the aggregator check lifecycle events, status entries and dead letters.
func TestPublishedMessagesMatchDocument(t *testing.T) {
	g, d := newGuarded(t), load(t)
	conn := g.service("superset-operator")
	publisher := bus.NewPublisher(conn)
	me := contract.Observer{Name: "superset-operator", Instance: "pod", Version: "v1"}
	observations := bus.NewObservationPublisher(publisher, "prod", me, nil)
	g.run(publisher.Run)
	g.run(bus.NewHeartbeatPublisher(conn, "prod", me, observations.Epoch).Run)

	subject := subjectOf(t, contract.Superset, me.Name)
	check := func(stream, subject string) *jetstream.RawStreamMsg {
		t.Helper()
		m := g.stored(stream, subject)
		if err := d.Check(m.Subject, m.Header, m.Data); err != nil {
			t.Errorf("%v\n%v\n%s", err, m.Header, m.Data)
		}
		return m
	}
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
	observations.PublishContext(ctx, contract.Superset, full())
	if m := check(contract.StreamObservations, subject); m.Header.Get(contract.HeaderTraceParent) == "" {
		t.Errorf("no trace in %v", m.Header)
	}
	check(contract.StreamHeartbeats, contract.HeartbeatPrefix+".prod."+me.Name)

	observations.Delete(contract.Superset, object(contract.Superset))
	expect.Eventually(t, expect.Long, func() error {
		if m := g.stored(contract.StreamObservations, subject); m.Header.Get("Nats-TTL") == "" {
			return errPending
		}
		return nil
	})
	check(contract.StreamObservations, subject)
}

var errPending = errors.New("not yet")

// full returns an observation with a value in every field.
func full() contract.Observation {
	least, since := int32(1), time.Unix(1, 0).UTC()
	return contract.Observation{
		Object: object(contract.Superset), ObservedAt: since, ValidForSeconds: 35, ObservedGeneration: 1, Phase: "Running",
		DeployedVersion: "4.1.1", Reconcile: contract.Reconcile{Outcome: contract.Failed, Reason: "Conflict", Message: "text", Since: &since},
		Intent: contract.Intent{Paused: true, PausedBy: "spec.suspend"},
		Units: []contract.Unit{{
			Name: "webServer", Kind: "Deployment", Role: contract.Serving, Present: true, Desired: 2, MinAvailable: &least,
			Failures: []contract.Failure{{Class: contract.FailureCrashLoop, Count: 1, Examples: []string{"pod"}}},
		}},
		Jobs:         []contract.Job{{Name: "migrate", State: contract.JobRunning}},
		Dependencies: []contract.Dependency{{Kind: "FireboltInstance", Name: "i"}},
	}
}

// An event that reaches the delivery limit, or that its reader terminates, results in an advisory in the dead-letter
// queue.
func TestAbandonedEventsBecomeDeadLetters(t *testing.T) {
	g, d := newGuarded(t), load(t)
	c, err := g.admin.CreateConsumer(t.Context(), contract.StreamLifecycle, jetstream.ConsumerConfig{
		Durable: "pager", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 1, AckWait: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	g.publish("team-a", "abandoned")
	g.publish("team-a", "ended")
	for _, end := range []bool{false, true} {
		m, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		if end {
			if err := m.Term(); err != nil {
				t.Fatal(err)
			}
		}
	}
	pull, err := c.Messages() // the server terminates the message only when the reader requests more
	if err != nil {
		t.Fatal(err)
	}
	defer pull.Stop()
	for _, reason := range []string{"MAX_DELIVERIES", "MSG_TERMINATED"} {
		m := g.stored(contract.StreamDeadLetters, "$JS.EVENT.ADVISORY.CONSUMER."+reason+".FLOTILLA_LIFECYCLE.pager")
		if err := d.Check(m.Subject, m.Header, m.Data); err != nil {
			t.Errorf("%v\n%s", err, m.Data)
		}
	}
}

// AsyncAPI interprets schemas as draft 7 by default, so the schemas must have the same meaning in it.
func TestSchemasAreValidDraft7(t *testing.T) {
	names, err := filepath.Glob(pages + "/schemas/*.v1.json")
	if err != nil || len(names) < 6 {
		t.Fatalf("%d schemas, %v", len(names), err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		older := bytes.Replace(raw, []byte("https://json-schema.org/draft/2020-12/schema"), []byte("http://json-schema.org/draft-07/schema#"), 1)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(older))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("file:///"+filepath.Base(name), doc); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile("file:///" + filepath.Base(name)); err != nil {
			t.Error(err)
		}
	}
}
