package writer_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/sync/errgroup"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

func TestBatchSpanLinksToWrites(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db, func(c *writer.Config) { c.Slots = 1 })
	write(t, w, model(t, "quiet", "u-0", 1, record.Live)) // before tracing

	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	otel.SetTracerProvider(provider)
	defer otel.SetTracerProvider(noop.NewTracerProvider())
	write(t, w, model(t, "quiet", "u-0", 2, record.Live))
	if got := spans.GetSpans(); len(got) > 0 {
		t.Fatalf("a write without a trace has spans: %+v", got)
	}

	var writes errgroup.Group
	for _, uid := range []string{"u-1", "u-2", "u-3"} {
		r := model(t, "m-"+uid, uid, 1, record.Live)
		writes.Go(func() error {
			ctx, span := provider.Tracer("test").Start(context.WithoutCancel(t.Context()), "store")
			defer span.End()
			outcome, err := w.Write(ctx, r)
			if err == nil && outcome != writer.Created {
				err = errors.New(string(outcome))
			}
			return err
		})
	}
	if err := writes.Wait(); err != nil {
		t.Fatal(err)
	}
	batches, linked := map[string]tracetest.SpanStub{}, 0
	stores := map[string]tracetest.SpanStub{}
	for _, s := range spans.GetSpans() {
		if s.Name == "store" {
			stores[s.SpanContext.SpanID().String()] = s
			continue
		}
		batches[s.SpanContext.SpanID().String()] = s
	}
	for _, batch := range batches {
		if batch.Name != "commit batch" || batch.Parent.IsValid() {
			t.Errorf("batch %+v", batch)
		}
		for _, link := range batch.Links {
			store, found := stores[link.SpanContext.SpanID().String()]
			if !found || len(store.Links) != 1 || !store.Links[0].SpanContext.Equal(batch.SpanContext) {
				t.Errorf("%s links to %+v", batch.Name, store)
			}
			linked++
		}
	}
	if linked != 3 || len(stores) != 3 {
		t.Errorf("%d links in %d batches to %d writes", linked, len(batches), len(stores))
	}
}
