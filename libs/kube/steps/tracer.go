package steps

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

// Continued is how long after the first reconcile of a generation the later ones belong
// to its trace: as long as a change of a spec usually takes to complete.
const Continued = 15 * time.Minute

// Tracer turns the reconciles of one kind's objects into traces. The first reconcile that
// sees a generation of an object is the root of a trace, and those of the next 15 minutes
// continue it. A later one has its own trace, with a link to that root.
//
// While tracing is off a Tracer keeps no state. It is safe for concurrent use.
type Tracer struct {
	kind  string
	clock clock.PassiveClock

	mu     sync.Mutex
	causes map[types.NamespacedName]cause
}

// cause is the first reconcile of the newest generation of an object.
type cause struct {
	uid        types.UID
	generation int64
	root       trace.SpanContext
	since      time.Time
}

// NewTracer returns the Tracer of a kind, for example "Superset".
func NewTracer(kind string, clk clock.PassiveClock) *Tracer {
	return &Tracer{kind: kind, clock: clk, causes: map[types.NamespacedName]cause{}}
}

// Start starts the span of one reconcile. The returned function ends it with the
// reconcile's error; it is never nil.
func (t *Tracer) Start(ctx context.Context, object metav1.Object) (context.Context, func(error)) {
	key := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	first, continues := t.before(key, object)
	if continues {
		ctx = trace.ContextWithRemoteSpanContext(ctx, first.root)
	}
	var opts []trace.SpanStartOption
	if !continues && first.root.IsValid() {
		opts = []trace.SpanStartOption{trace.WithLinks(trace.Link{SpanContext: first.root})}
	}
	traced, span := start(ctx, t.kind, object, opts...)
	if !span.SpanContext().IsValid() {
		return ctx, noEnd
	}
	if !first.root.IsValid() {
		t.record(key, cause{object.GetUID(), object.GetGeneration(), span.SpanContext(), t.clock.Now()})
	}
	return traced, endFunc(span)
}

// Forget drops the remembered state of a deleted object.
func (t *Tracer) Forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.causes, key)
}

// before returns the first reconcile of the object's generation, the zero value if there
// was none, and whether its trace still continues.
func (t *Tracer) before(key types.NamespacedName, object metav1.Object) (cause, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, found := t.causes[key]
	if !found || first.uid != object.GetUID() || first.generation != object.GetGeneration() {
		return cause{}, false
	}
	return first, t.clock.Since(first.since) < Continued
}

func (t *Tracer) record(key types.NamespacedName, c cause) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.causes[key] = c
}

// Start starts the span of a reconcile whose object needs no [Tracer], since one reconcile
// completes a change of it. The returned function ends the span; it is never nil.
func Start(ctx context.Context, kind string, object metav1.Object) (context.Context, func(error)) {
	traced, span := start(ctx, kind, object)
	if !span.SpanContext().IsValid() {
		return ctx, noEnd
	}
	return traced, endFunc(span)
}

func start(ctx context.Context, kind string, object metav1.Object, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span := otel.Tracer(scope).Start(ctx, "reconcile", opts...)
	if span.IsRecording() {
		span.SetName("reconcile " + kind)
		span.SetAttributes(
			telemetry.AttrKind.String(kind),
			telemetry.AttrNamespace.String(object.GetNamespace()),
			telemetry.AttrName.String(object.GetName()),
			telemetry.AttrUID.String(string(object.GetUID())),
			telemetry.AttrGeneration.Int64(object.GetGeneration()),
		)
	}
	return ctx, span
}

func noEnd(error) {}

func endFunc(span trace.Span) func(error) {
	return func(err error) {
		outcome := "succeeded"
		if err != nil {
			outcome = "failed"
		}
		span.SetAttributes(telemetry.AttrOutcome.String(outcome))
		telemetry.End(span, "reconcile", err)
	}
}
