package telemetry_test

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

func TestChildStartsNoTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	defer otel.SetTracerProvider(noop.NewTracerProvider()) // the previous default delegates to the first provider permanently

	ctx, span := telemetry.Child(t.Context(), "test", "part")
	if span.SpanContext().IsValid() || telemetry.Traced(ctx) {
		t.Error("a trace began")
	}
	telemetry.End(span, "work", errors.New("broken"))

	parent := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	_, span = telemetry.Child(trace.ContextWithRemoteSpanContext(t.Context(), parent), "test", "part")
	telemetry.End(span, "work", errors.New("broken"))
	got := spans.GetSpans()
	if len(got) != 1 || !got[0].Parent.Equal(parent) || got[0].Status.Code != codes.Error || len(got[0].Events) != 1 {
		t.Errorf("spans %+v", got)
	}
}

func TestChildWithoutTracingAllocatesNothing(t *testing.T) {
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		_, span := telemetry.Child(ctx, "test", "part")
		telemetry.End(span, "work", nil)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
