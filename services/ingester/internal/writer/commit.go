package writer

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/telemetry"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/queue"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/retry"
)

const (
	scope = "github.com/flotilla-dev/flotilla/services/ingester/internal/writer"

	// Of the OpenTelemetry conventions for databases.
	attrDatabase = attribute.Key("db.system.name")
	attrBatch    = attribute.Key("db.operation.batch.size")
)

// traced commits a batch in a span. A batch has writes of many traces, so its span is the root of
// its own trace, and it and the spans of its writes link to each other. A batch whose writes are
// not recorded has no span.
func (w *Writer) traced(ctx context.Context, requests []*queue.Request, records []*record.Record) ([]Outcome, error) {
	var links []trace.Link
	for _, req := range requests {
		if req.Span.IsRecording() {
			links = append(links, trace.Link{SpanContext: req.Span.SpanContext()})
		}
	}
	if len(links) == 0 {
		return w.commitBatch(ctx, records)
	}
	ctx, span := otel.Tracer(scope).Start(ctx, "commit batch",
		trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient), trace.WithLinks(links...),
		trace.WithAttributes(
			telemetry.AttrKind.String(records[0].Kind.Name), attrDatabase.String("mysql"), attrBatch.Int(len(records)),
		))
	for _, req := range requests {
		req.Span.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	outcomes, err := w.commitBatch(ctx, records)
	telemetry.End(span, "commit", err)
	return outcomes, err
}

// commitBatch commits records of one kind in one transaction, and retries transient failures.
func (w *Writer) commitBatch(ctx context.Context, records []*record.Record) (outcomes []Outcome, err error) {
	kind := records[0].Kind.Name
	err = w.retries.Do(ctx, kind, len(records), func(ctx context.Context) (err error) {
		if w.hint.applies(records) {
			outcomes, err = w.batches.Run(ctx, records, true)
			if !errors.Is(err, retry.ErrRaced) {
				return err
			}
			w.hint.update(records, nil)
		}
		outcomes, err = w.batches.Run(ctx, records, false)
		return err
	})
	if err == nil {
		w.hint.update(records, outcomes)
	}
	return outcomes, err
}
