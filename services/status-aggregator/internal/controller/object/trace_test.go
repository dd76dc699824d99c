package object

import (
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
)

func TestSpanContinuesObservationTrace(t *testing.T) {
	cause := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	received := func(before time.Duration) *model.Received {
		return &model.Received{Cause: cause, ReceivedAt: now.Add(-before)}
	}
	for name, c := range map[string]struct {
		received *model.Received
		parent   bool
		link     bool
	}{
		"at once":                       {received(0), true, false},
		"received during the reconcile": {received(-time.Second), true, false},
		"held back for a while":         {received(2 * time.Minute), true, false},
		"long after it":                 {received(steps.Continued), false, true},
		"without a trace":               {&model.Received{ReceivedAt: now}, false, false},
		"of an object never observed":   {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			spans := tracetest.NewInMemoryExporter()
			otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
			defer otel.SetTracerProvider(noop.NewTracerProvider())

			s := &reconcileState{ref: contract.Ref{Namespace: "ns", Name: "main"}, now: now, received: c.received, live: observe.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{}}}}
			s.kind.GVK.Kind = "Superset"
			if withTrace := trace.SpanContextFromContext(s.withTrace(t.Context())); withTrace.Equal(cause) != c.parent {
				t.Errorf("no span yet, context is %+v", withTrace)
			}
			first := trace.SpanContextFromContext(s.withSpan(t.Context()))
			for _, ctx := range []trace.SpanContext{
				trace.SpanContextFromContext(s.withSpan(t.Context())), trace.SpanContextFromContext(s.withTrace(t.Context())),
			} {
				if !ctx.Equal(first) {
					t.Error("a reconcile has two spans")
				}
			}
			s.finish(errors.New("broken"))

			got := spans.GetSpans()
			if len(got) != 1 || got[0].Name != "aggregate Superset" {
				t.Fatalf("spans %+v", got)
			}
			if got[0].Parent.Equal(cause) != c.parent || (len(got[0].Links) == 1) != c.link || got[0].Parent.IsValid() != c.parent {
				t.Errorf("parent %+v, links %+v", got[0].Parent, got[0].Links)
			}
			if c.received != nil && got[0].StartTime.Before(c.received.ReceivedAt) {
				t.Error("it began before what it follows from")
			}
		})
	}
}

func TestReconcileWithoutChangeExportsNoSpan(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	defer otel.SetTracerProvider(noop.NewTracerProvider())
	s := &reconcileState{now: now}
	s.withTrace(t.Context())
	s.finish(nil)
	if got := spans.GetSpans(); len(got) > 0 {
		t.Errorf("spans %+v", got)
	}
}
