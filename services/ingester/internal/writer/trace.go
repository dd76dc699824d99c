package writer

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/telemetry"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
)

const (
	scope = "github.com/flotilla-dev/flotilla/services/ingester/internal/writer"

	// Of the OpenTelemetry conventions for databases.
	attrDatabase = attribute.Key("db.system.name")
	attrBatch    = attribute.Key("db.operation.batch.size")
)

// traced runs the transaction of a batch. It serves many traces at a time and so belongs to
// none of them: its span is a trace of its own, and it and the spans of the writes that it
// carries link to each other. A batch whose writes are not recorded has no span.
func (w *Writer) traced(ctx context.Context, batch []*request, records []*record.Record) ([]Outcome, error) {
	var links []trace.Link
	for _, req := range batch {
		if req.span.IsRecording() {
			links = append(links, trace.Link{SpanContext: req.span.SpanContext()})
		}
	}
	if len(links) == 0 {
		return w.attempt(ctx, records)
	}
	ctx, span := otel.Tracer(scope).Start(ctx, "commit batch",
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(links...),
		trace.WithAttributes(
			telemetry.AttrKind.String(records[0].Kind.Name), attrDatabase.String("mysql"), attrBatch.Int(len(records)),
		))
	for _, req := range batch {
		req.span.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	outcomes, err := w.attempt(ctx, records)
	telemetry.End(span, "commit", err)
	return outcomes, err
}
