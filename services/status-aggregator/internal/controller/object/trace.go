package object

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

const scope = "github.com/flotilla-dev/flotilla/services/status-aggregator/internal/controller/object"

// saying returns ctx within the span of the reconcile, which begins as soon as something
// new is said of the object: a reconcile that says nothing new leaves no span.
func (s *reconcileState) saying(ctx context.Context) context.Context {
	if s.span == nil {
		s.span = s.start(ctx)
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// within returns ctx in the span of the reconcile, or within the trace of the
// observation while nothing was said.
func (s *reconcileState) within(ctx context.Context) context.Context {
	switch {
	case s.span != nil:
		return trace.ContextWithSpan(ctx, s.span)
	case s.caused():
		return trace.ContextWithRemoteSpanContext(ctx, s.received.Cause)
	default:
		return ctx
	}
}

// caused reports whether the reconcile belongs to the trace of the observation: the
// observation has one and is recent.
func (s *reconcileState) caused() bool {
	return s.received != nil && s.received.Cause.IsValid() && s.now.Sub(s.received.ReceivedAt) < steps.Continued
}

// start begins the span in the trace of the observation; else it is a trace of its own,
// with a link to the observation if that is known.
func (s *reconcileState) start(ctx context.Context) trace.Span {
	begin := s.now
	if s.received != nil && s.received.ReceivedAt.After(begin) {
		begin = s.received.ReceivedAt // it came while the reconcile ran
	}
	opts := []trace.SpanStartOption{trace.WithTimestamp(begin)}
	switch {
	case s.caused():
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

// finish ends the span, if something was said.
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
