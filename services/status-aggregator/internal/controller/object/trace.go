package object

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

const scope = "github.com/flotilla-dev/flotilla/services/status-aggregator/internal/controller/object"

// withSpan returns ctx with the span of the reconcile and starts the span if necessary. A reconcile
// without a change has no span.
func (s *reconcileState) withSpan(ctx context.Context) context.Context {
	if s.span == nil {
		s.span = s.start(ctx)
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// withTrace returns ctx with the span of the reconcile, or with the trace of the
// observation if the reconcile has no span yet.
func (s *reconcileState) withTrace(ctx context.Context) context.Context {
	switch {
	case s.span != nil:
		return trace.ContextWithSpan(ctx, s.span)
	case s.continuesTrace():
		return trace.ContextWithRemoteSpanContext(ctx, s.received.Cause)
	default:
		return ctx
	}
}

// continuesTrace reports whether the reconcile belongs to the trace of the observation, which requires
// that the observation has a trace and is recent.
func (s *reconcileState) continuesTrace() bool {
	return s.received != nil && s.received.Cause.IsValid() && s.now.Sub(s.received.ReceivedAt) < steps.Continued
}

// start starts the span in the trace of the observation, or otherwise a new trace
// with a link to the observation if it is known.
func (s *reconcileState) start(ctx context.Context) trace.Span {
	start := s.now
	if s.received != nil && s.received.ReceivedAt.After(start) {
		start = s.received.ReceivedAt // received while the reconcile ran
	}
	opts := []trace.SpanStartOption{trace.WithTimestamp(start)}
	switch {
	case s.continuesTrace():
		ctx = trace.ContextWithRemoteSpanContext(ctx, s.received.Cause)
	case s.received != nil && s.received.Cause.IsValid():
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: s.received.Cause}))
	}
	_, span := otel.Tracer(scope).Start(ctx, "aggregate", opts...)
	if span.IsRecording() {
		span.SetName("aggregate " + s.kind.GVK.Kind)
		span.SetAttributes(
			telemetry.AttrKind.String(s.kind.GVK.Kind),
			telemetry.AttrNamespace.String(s.ref.Namespace),
			telemetry.AttrName.String(s.ref.Name),
			telemetry.AttrUID.String(string(s.live.GetUID())),
			telemetry.AttrGeneration.Int64(s.live.GetGeneration()),
		)
	}
	return span
}

// finish ends the span, if there is one.
func (s *reconcileState) finish(err error) {
	if s.span == nil {
		return
	}
	outcome := "succeeded"
	if err != nil {
		outcome = "failed"
	}
	s.span.SetAttributes(telemetry.AttrOutcome.String(outcome))
	telemetry.End(s.span, "aggregate", err)
}
