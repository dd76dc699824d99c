package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

// Example carries a trace over a message bus: the sender injects, the receiver extracts.
func Example() {
	id, err := trace.TraceIDFromHex("0af7651916cd43dd8448eb211c80319c")
	if err != nil {
		fmt.Println(err)
		return
	}
	sender := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
	}))
	header := map[string][]string{}
	telemetry.InjectHeaders(sender, header)
	fmt.Println(header["traceparent"][0])

	receiver := telemetry.ExtractHeaders(context.Background(), header)
	fmt.Println(trace.SpanContextFromContext(receiver).TraceID() == id)
	// Output:
	// 00-0af7651916cd43dd8448eb211c80319c-0100000000000000-01
	// true
}

func TestExtractHeadersAcceptsForeignHeaders(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	tests := map[string]struct {
		header map[string][]string
		valid  bool
	}{
		"lower case":     {map[string][]string{"traceparent": {parent}}, true},
		"canonical case": {map[string][]string{"Traceparent": {parent}}, true},
		"upper case":     {map[string][]string{"TRACEPARENT": {parent}}, true},
		"absent":         {map[string][]string{}, false},
		"no headers":     {nil, false},
		"empty":          {map[string][]string{"traceparent": {}}, false},
		"malformed":      {map[string][]string{"traceparent": {"00-zz\r\nX: y"}}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := trace.SpanContextFromContext(telemetry.ExtractHeaders(t.Context(), tc.header))
			if got.IsValid() != tc.valid || got.IsValid() && !got.IsRemote() {
				t.Errorf("got %+v, want valid %v", got, tc.valid)
			}
		})
	}
}

func TestInjectHeadersRequiresSpan(t *testing.T) {
	header := map[string][]string{}
	telemetry.InjectHeaders(t.Context(), header)
	if len(header) != 0 {
		t.Errorf("got %v", header)
	}
}

func TestTracingIsOffUnlessConfigured(t *testing.T) {
	tests := map[string]map[string]string{
		"nothing set":      {},
		"disabled":         {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"exporter is none": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	}
	for name, env := range tests {
		t.Run(name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			shutdown, err := telemetry.SetupTracing(t.Context(), "test-service")
			if err != nil {
				t.Fatal(err)
			}
			_, span := otel.Tracer("test").Start(t.Context(), "work")
			if span.IsRecording() {
				t.Error("a span is recorded")
			}
			if err := shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSetupTracingRejectsUnknownProtocol(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "smoke")
	shutdown, err := telemetry.SetupTracing(t.Context(), "test-service")
	if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_PROTOCOL") || shutdown == nil {
		t.Errorf("got %v", err)
	}
}

func TestSpansReachCollector(t *testing.T) {
	received := make(chan *coltracepb.ExportTraceServiceRequest, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		request := &coltracepb.ExportTraceServiceRequest{}
		if err := proto.Unmarshal(body, request); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		received <- request
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	before := otel.GetTracerProvider()
	defer otel.SetTracerProvider(before)

	shutdown, err := telemetry.SetupTracing(t.Context(), "test-service")
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := otel.Tracer("test").Start(t.Context(), "work")
	header := map[string][]string{}
	telemetry.InjectHeaders(ctx, header)
	span.End()
	if err := shutdown(t.Context()); err != nil { // sends what is buffered
		t.Fatal(err)
	}
	resource := (<-received).GetResourceSpans()[0]
	sent := resource.GetScopeSpans()[0].GetSpans()[0]
	if sent.GetName() != "work" || !strings.Contains(header["traceparent"][0], fmt.Sprintf("%x", sent.GetTraceId())) {
		t.Errorf("span %q with trace %x, header %v", sent.GetName(), sent.GetTraceId(), header)
	}
	attributes := map[string]string{}
	for _, a := range resource.GetResource().GetAttributes() {
		attributes[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if attributes["service.name"] != "test-service" || attributes["service.version"] == "" {
		t.Errorf("attributes are %v", attributes)
	}
}
