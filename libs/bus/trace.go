package bus

import (
	"context"
	"strings"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

const scope = "github.com/flotilla-dev/flotilla/libs/bus"

// Attributes of the OpenTelemetry conventions for messaging.
const (
	attrSystem    = attribute.Key("messaging.system")
	attrSubject   = attribute.Key("messaging.destination.name")
	attrMessageID = attribute.Key("messaging.message.id")
)

// StartPublish starts the span of one attempt to publish a message and writes it into the
// message's header, from which readers derive the parent of their spans. It continues the
// trace of the header or else that of ctx; without either the message gets no span, since
// a message never starts a trace. End the span with [EndPublish].
func StartPublish(ctx context.Context, m *nats.Msg) (context.Context, trace.Span) {
	if len(m.Header[contract.HeaderTraceParent]) > 0 {
		ctx = telemetry.ExtractHeaders(ctx, m.Header)
	}
	if !telemetry.Traced(ctx) {
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx, span := otel.Tracer(scope).Start(ctx, "publish", trace.WithSpanKind(trace.SpanKindProducer))
	telemetry.InjectHeaders(ctx, m.Header)
	if span.IsRecording() {
		span.SetName("publish " + family(m.Subject))
		span.SetAttributes(messaging(m.Subject, m.Header)...)
	}
	return ctx, span
}

// EndPublish ends the span of an attempt with its outcome, for example "acked".
func EndPublish(span trace.Span, outcome string, err error) {
	if span.IsRecording() {
		span.SetAttributes(telemetry.AttrOutcome.String(outcome))
	}
	telemetry.End(span, "publish", err)
}

// StartReceive starts the span of a message that was delivered, as a child of the one
// that published it. A message without a trace gets no span.
func StartReceive(ctx context.Context, d Delivery) (context.Context, trace.Span) {
	if len(d.Header[contract.HeaderTraceParent]) == 0 {
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx = telemetry.ExtractHeaders(ctx, d.Header)
	if !telemetry.Traced(ctx) { // the header is malformed
		return ctx, trace.SpanFromContext(ctx)
	}
	ctx, span := otel.Tracer(scope).Start(ctx, "receive", trace.WithSpanKind(trace.SpanKindConsumer))
	if span.IsRecording() {
		span.SetName("receive " + family(d.Subject))
		span.SetAttributes(messaging(d.Subject, d.Header)...)
	}
	return ctx, span
}

func messaging(subject string, header map[string][]string) []attribute.KeyValue {
	out := []attribute.KeyValue{attrSystem.String("nats"), attrSubject.String(subject)}
	for _, id := range header[contract.HeaderMsgID] {
		out = append(out, attrMessageID.String(id))
	}
	return out
}

// family returns the first two tokens of a subject, for example "flotilla.obs", to limit
// the number of span names.
func family(subject string) string {
	first, remainder, _ := strings.Cut(subject, ".")
	second, _, _ := strings.Cut(remainder, ".")
	return first + "." + second
}
