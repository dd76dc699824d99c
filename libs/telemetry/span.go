package telemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Attributes that the spans of all services share.
const (
	AttrKind       = attribute.Key("flotilla.kind")       // of the resource, for example "Superset"
	AttrNamespace  = attribute.Key("flotilla.namespace")  // of the resource
	AttrName       = attribute.Key("flotilla.name")       // of the resource
	AttrUID        = attribute.Key("flotilla.uid")        // of the resource
	AttrGeneration = attribute.Key("flotilla.generation") // of the spec that was acted upon
	AttrOutcome    = attribute.Key("flotilla.outcome")    // of the operation; see docs/telemetry.md
)

// Traced reports whether ctx belongs to a trace, sampled or not.
func Traced(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsValid() }

// Child starts a span in the trace that ctx belongs to; scope is the import path of the
// caller. Without a trace it returns ctx and a no-op span, and costs nothing: a child
// never starts a trace.
func Child(ctx context.Context, scope, name string) (context.Context, trace.Span) {
	if !Traced(ctx) {
		return ctx, trace.SpanFromContext(ctx)
	}
	return otel.Tracer(scope).Start(ctx, name)
}

// End ends a span that may have failed. doing is a few words without data of users.
func End(span trace.Span, doing string, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, doing+" failed")
	}
	span.End()
}
