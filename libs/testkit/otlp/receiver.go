package otlp

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Path is the path below the endpoint to which clients send spans, by the OTLP specification.
const Path = "/v1/traces"

const closeTimeout = 5 * time.Second

// Receiver receives spans until it is closed. It is safe for concurrent use.
type Receiver struct {
	address string
	server  *http.Server
	done    chan struct{} // closed when the server has ended

	mu    sync.Mutex
	spans []Span
	errs  []error
}

// Start listens on loopback until the test ends. The test fails if the receiver got a request that is not OTLP.
func Start(t testing.TB) *Receiver {
	t.Helper()
	r, err := listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), r.rejected()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func listen(ctx context.Context) (*Receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for spans: %w", err)
	}
	r := &Receiver{address: listener.Addr().String(), done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, r.export)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: closeTimeout}
	go func() {
		defer close(r.done)
		if err := r.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.recordError(fmt.Errorf("receive spans: %w", err))
		}
	}()
	return r, nil
}

// Close stops the receiver and keeps the received spans. Further calls do nothing.
func (r *Receiver) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := r.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("close the receiver of spans: %w", err)
	}
	<-r.done
	return nil
}

// Endpoint returns the value for OTEL_EXPORTER_OTLP_ENDPOINT.
func (r *Receiver) Endpoint() string { return "http://" + r.address }

// Env returns environment variables with which an OpenTelemetry SDK sends its spans to the receiver, with a short delay.
func (r *Receiver) Env() []string {
	return []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.Endpoint(),
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_TRACES_SAMPLER=parentbased_always_on",
		"OTEL_BSP_SCHEDULE_DELAY=200", // milliseconds
	}
}

// Spans returns the received spans, sorted by start time.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.spans)
	slices.SortStableFunc(out, func(a, b Span) int { return a.Start.Compare(b.Start) })
	return out
}

func (r *Receiver) export(w http.ResponseWriter, req *http.Request) {
	spans, err := decode(req)
	if err != nil {
		r.recordError(fmt.Errorf("receive spans: %w", err))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.spans = append(r.spans, spans...)
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK) // an empty body is an ExportTraceServiceResponse that accepts all
}

func (r *Receiver) recordError(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *Receiver) rejected() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

// decode reads an ExportTraceServiceRequest. It uses TracesData, which has the same wire
// format and does not import the gRPC service.
func decode(req *http.Request) ([]Span, error) {
	if kind := req.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		return nil, fmt.Errorf("content type %q, want application/x-protobuf", kind)
	}
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(req.Body)
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		body = unpacked
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	data := &tracepb.TracesData{}
	if err := proto.Unmarshal(raw, data); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	var out []Span
	for _, resource := range data.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				out = append(out, span(resource, scope, s))
			}
		}
	}
	return out, nil
}
