package steps_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
)

// record turns tracing on for the test.
func record(t testing.TB) *tracetest.InMemoryExporter {
	t.Helper()
	return sample(t, sdktrace.AlwaysSample())
}

func sample(t testing.TB, sampler sdktrace.Sampler) *tracetest.InMemoryExporter {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithSampler(sampler)))
	// Do not restore the previous provider: the default one delegates to the first provider that was set.
	t.Cleanup(func() { otel.SetTracerProvider(noop.NewTracerProvider()) })
	return spans
}

// reconciler reconciles objects one after the other.
type reconciler struct {
	t      *testing.T
	spans  *tracetest.InMemoryExporter
	tracer *steps.Tracer
}

func (r reconciler) reconcile(object metav1.Object) tracetest.SpanStub {
	r.t.Helper()
	r.spans.Reset()
	_, end := r.tracer.Start(r.t.Context(), object)
	end(nil)
	got := r.spans.GetSpans()
	if len(got) != 1 {
		r.t.Fatalf("%d spans", len(got))
	}
	return got[0]
}

func TestTracerKeepsTraceOfGeneration(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	r := reconciler{t: t, spans: record(t), tracer: steps.NewTracer("Superset", clk)}
	object := &metav1.ObjectMeta{Namespace: "ns", Name: "main", UID: "u", Generation: 1}
	sameTrace := func(a, b tracetest.SpanStub) bool { return a.SpanContext.TraceID() == b.SpanContext.TraceID() }

	first := r.reconcile(object)
	clk.Step(steps.Continued - time.Second)
	second := r.reconcile(object)
	if first.Parent.IsValid() || !sameTrace(first, second) || second.Parent.SpanID() != first.SpanContext.SpanID() {
		t.Errorf("first %+v, second %+v", first, second)
	}

	clk.Step(2 * time.Second)
	for range 2 {
		late := r.reconcile(object)
		if sameTrace(first, late) || late.Parent.IsValid() || len(late.Links) != 1 || !late.Links[0].SpanContext.Equal(first.SpanContext) {
			t.Errorf("after a while: %+v", late)
		}
	}

	object.Generation = 2
	changed := r.reconcile(object)
	if sameTrace(first, changed) || changed.Parent.IsValid() || len(changed.Links) > 0 {
		t.Errorf("the next generation: %+v", changed)
	}
	object.UID = "other"
	if other := r.reconcile(object); sameTrace(changed, other) {
		t.Errorf("another object of the same name: %+v", other)
	}
	r.tracer.Forget(types.NamespacedName{Namespace: "ns", Name: "main"})
	if forgotten := r.reconcile(object); forgotten.Parent.IsValid() || len(forgotten.Links) > 0 {
		t.Errorf("after Forget: %+v", forgotten)
	}
}

func TestTracerSpanNamesObject(t *testing.T) {
	spans := record(t)
	object := &metav1.ObjectMeta{Namespace: "ns", Name: "main", UID: "u", Generation: 7}
	_, end := steps.NewTracer("Superset", clocktesting.NewFakeClock(time.Now())).Start(t.Context(), object)
	end(errBroken)
	want := attribute.NewSet(
		attribute.String("flotilla.kind", "Superset"), attribute.String("flotilla.namespace", "ns"),
		attribute.String("flotilla.name", "main"), attribute.String("flotilla.uid", "u"),
		attribute.Int64("flotilla.generation", 7), attribute.String("flotilla.outcome", "failed"),
	)
	got := attribute.NewSet(spans.GetSpans()[0].Attributes...)
	if !got.Equals(&want) {
		t.Errorf("attributes %s", got.Encoded(attribute.DefaultEncoder()))
	}
}

func TestTracerKeepsSamplingDecision(t *testing.T) {
	spans := sample(t, &dropFirst{})
	tracer := steps.NewTracer("Superset", clocktesting.NewFakeClock(time.Now()))
	dropped := &metav1.ObjectMeta{Namespace: "ns", Name: "dropped", UID: "u", Generation: 1}
	for range 2 {
		_, end := tracer.Start(t.Context(), dropped)
		end(nil)
	}
	if got := spans.GetSpans(); len(got) > 0 {
		t.Errorf("%d spans of a trace that was not sampled", len(got))
	}
}

// dropFirst drops the first trace, and follows the decision of parents.
type dropFirst struct{ sampled bool }

func (s *dropFirst) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	root := sdktrace.AlwaysSample()
	if !s.sampled {
		root = sdktrace.NeverSample()
	}
	s.sampled = true
	return sdktrace.ParentBased(root).ShouldSample(p)
}

func (*dropFirst) Description() string { return "once" }

func BenchmarkReconcileWithoutTracing(b *testing.B) {
	tracer := steps.NewTracer("Superset", clocktesting.NewFakeClock(time.Now()))
	object := &metav1.ObjectMeta{Namespace: "ns", Name: "main", UID: "u", Generation: 1}
	doNothing := func(context.Context, *struct{}) (steps.Result, error) { return steps.Result{}, nil }
	list := []steps.Step[struct{}]{{Name: "a", Run: doNothing}, {Name: "b", Run: doNothing}, {Name: "c", Run: doNothing}}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		ctx, end := tracer.Start(ctx, object)
		_, err := steps.Run(ctx, &struct{}{}, list)
		end(err)
	}
}
