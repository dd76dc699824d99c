package telemetry

import (
	"context"
	"fmt"
	"net/textproto"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// propagator writes and reads W3C traceparent and tracestate. It excludes baggage
// on purpose: every subscriber would receive the baggage of a caller.
var propagator = propagation.TraceContext{}

// SetupTracing installs the W3C propagator and, when OTEL_EXPORTER_OTLP_ENDPOINT
// or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, an exporter that sends spans
// there in batches. OTEL_EXPORTER_OTLP_PROTOCOL chooses http/protobuf (default)
// or grpc; OTEL_SDK_DISABLED=true and OTEL_TRACES_EXPORTER=none turn it off; the
// other OTEL_* variables follow the OpenTelemetry specification.
//
// An unavailable collector never blocks: spans are dropped and the error is logged to
// the logger of ctx at V(1). Call shutdown before the process exits to send the
// buffered spans; it is never nil.
func SetupTracing(ctx context.Context, service string) (shutdown func(context.Context) error, err error) {
	otel.SetTextMapPropagator(propagator)
	noop := func(context.Context) error { return nil }
	if !tracingConfigured() {
		return noop, nil
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return noop, fmt.Errorf("set up tracing: %w", err)
	}
	res, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", service),
			attribute.String("service.version", BuildInfo().Version),
		),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(), // last, so that OTEL_SERVICE_NAME wins
	)
	if err != nil {
		return noop, fmt.Errorf("set up tracing: describe process: %w", err)
	}
	log := logr.FromContextOrDiscard(ctx).WithName("tracing")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.V(1).Info("Lost spans", "reason", err.Error())
	}))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	otel.SetTracerProvider(provider)
	return provider.Shutdown, nil
}

func tracingConfigured() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func newExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	protocol := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	}
	return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, want http/protobuf or grpc", protocol)
}

// InjectHeaders writes the trace context of ctx into message headers.
// It changes nothing when ctx carries no span.
func InjectHeaders(ctx context.Context, h map[string][]string) {
	propagator.Inject(ctx, headers(h))
}

// ExtractHeaders returns ctx with the remote span that the headers name, so that
// a span started from it continues the sender's trace. It returns ctx unchanged if
// the headers are absent or malformed.
func ExtractHeaders(ctx context.Context, h map[string][]string) context.Context {
	return propagator.Extract(ctx, headers(h))
}

// headers reads keys in any case, as senders in other languages write them.
type headers map[string][]string

func (h headers) Get(key string) string {
	for _, k := range []string{key, textproto.CanonicalMIMEHeaderKey(key)} {
		if v := h[k]; len(v) > 0 {
			return v[0]
		}
	}
	for k, v := range h {
		if strings.EqualFold(k, key) && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

func (h headers) Set(key, value string) { h[key] = []string{value} }

func (h headers) Keys() []string {
	out := make([]string, 0, len(h))
	for k := range h {
		out = append(out, k)
	}
	return out
}
