package bus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

func recordSpans(t *testing.T) *tracetest.InMemoryExporter {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	return spans
}

// cause returns a context within a trace of that number.
func cause(ctx context.Context, number byte) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{number}, SpanID: trace.SpanID{number}, TraceFlags: trace.FlagsSampled, Remote: true,
	}))
}

func TestMessageContinuesPublishTrace(t *testing.T) {
	spans := recordSpans(t)
	m := &nats.Msg{Subject: "flotilla.change.v1.prod", Header: nats.Header{contract.HeaderMsgID: {"id"}}}
	_, published := bus.StartPublish(cause(t.Context(), 1), m)
	bus.EndPublish(published, "acked", nil)
	_, received := bus.StartReceive(t.Context(), bus.Delivery{Subject: m.Subject, Header: m.Header})
	received.End()

	got := spans.GetSpans()
	if len(got) != 2 {
		t.Fatalf("%d spans", len(got))
	}
	if s := got[0]; s.Name != "publish flotilla.change" || s.SpanKind != trace.SpanKindProducer || s.Parent.SpanID() != (trace.SpanID{1}) {
		t.Errorf("publish is %+v", s)
	}
	if s := got[1]; s.Name != "receive flotilla.change" || s.SpanKind != trace.SpanKindConsumer ||
		s.Parent.SpanID() != got[0].SpanContext.SpanID() || s.SpanContext.TraceID() != (trace.TraceID{1}) {
		t.Errorf("receive is %+v", s)
	}

	// A retry has its own span, a sibling of the first one.
	retried := &nats.Msg{Subject: m.Subject, Header: nats.Header{contract.HeaderTraceParent: m.Header[contract.HeaderTraceParent]}}
	_, second := bus.StartPublish(cause(t.Context(), 9), retried)
	if second.SpanContext().TraceID() != (trace.TraceID{1}) || slices.Equal(retried.Header[contract.HeaderTraceParent], m.Header[contract.HeaderTraceParent]) {
		t.Errorf("the trace of the header is not continued: %v", retried.Header)
	}
}

func TestMessageStartsNoTrace(t *testing.T) {
	spans := recordSpans(t)
	m := &nats.Msg{Subject: "flotilla.hb.v1.prod", Header: nats.Header{}}
	_, span := bus.StartPublish(t.Context(), m)
	bus.EndPublish(span, "acked", nil)
	for _, header := range []nats.Header{m.Header, {contract.HeaderTraceParent: {"broken"}}} {
		_, received := bus.StartReceive(t.Context(), bus.Delivery{Subject: m.Subject, Header: header})
		received.End()
	}
	if got := spans.GetSpans(); len(got) > 0 || len(m.Header) > 0 {
		t.Errorf("%d spans, header %v", len(got), m.Header)
	}
}

// A process without tracing forwards the trace context unchanged.
func TestTracePropagatesWithoutLocalTracing(t *testing.T) {
	m := &nats.Msg{Subject: "flotilla.obs.v1.prod", Header: nats.Header{}}
	_, span := bus.StartPublish(cause(t.Context(), 1), m)
	bus.EndPublish(span, "acked", nil)
	want := []string{"00-01000000000000000000000000000000-0100000000000000-01"}
	if got := m.Header[contract.HeaderTraceParent]; !slices.Equal(got, want) {
		t.Errorf("header %v", got)
	}
}

func TestObservationContinuesLatestTrace(t *testing.T) {
	recordSpans(t)
	_, conn := bootstrapped(t)
	publisher := bus.NewPublisher(conn.Conn)
	o := bus.NewObservationPublisher(publisher, "prod", me, nil)
	// Both offers precede the first send: one message covers both.
	o.PublishContext(cause(t.Context(), 1), contract.Superset, observation("a", "Pending"))
	o.PublishContext(cause(t.Context(), 2), contract.Superset, observation("a", "Running"))
	o.PublishContext(cause(t.Context(), 3), contract.Superset, observation("a", "Running")) // nothing new
	running(t, publisher.Run)
	eventually(t, func() error {
		stream, err := conn.JetStream().Stream(t.Context(), contract.StreamObservations)
		if err != nil {
			return err
		}
		m, err := stream.GetLastMsgForSubject(t.Context(), contract.ObservationPrefix+".>")
		if err != nil {
			return err
		}
		publish := trace.SpanContextFromContext(telemetry.ExtractHeaders(t.Context(), m.Header))
		if publish.TraceID() != (trace.TraceID{2}) || publish.SpanID() == (trace.SpanID{2}) {
			return fmt.Errorf("the message belongs to %+v", publish)
		}
		return nil
	})
}
