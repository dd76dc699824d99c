package outbox_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

func TestEventContinuesTraceOfRow(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	defer otel.SetTracerProvider(noop.NewTracerProvider())

	f := newFixture(t)
	f.add("traced", 1, contract.ChangeCreated)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if _, err := f.db.ExecContext(t.Context(), "UPDATE outbox SET traceparent = ?", parent); err != nil {
		t.Fatal(err)
	}
	f.add("quiet", 1, contract.ChangeCreated)
	f.relay()
	f.empty()

	got := spans.GetSpans()
	if len(got) != 1 || got[0].Name != "publish flotilla.change" || got[0].SpanKind != trace.SpanKindProducer || got[0].Parent.SpanID().String() != "b7ad6b7169203331" {
		t.Fatalf("spans %+v", got)
	}
	want := map[string]string{
		"traced": fmt.Sprintf("00-%s-%s-01", got[0].SpanContext.TraceID(), got[0].SpanContext.SpanID()),
		"quiet":  "",
	}
	for _, m := range f.messages() {
		_, change, err := contract.Decode[contract.Change](m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if got, name := m.Header.Get(contract.HeaderTraceParent), change.Object.Name; got != want[name] {
			t.Errorf("the event of %s has %q, want %q", name, got, want[name])
		}
	}
}
