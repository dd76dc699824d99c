package otlp

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func message(t *testing.T, spans ...*tracepb.Span) []byte {
	t.Helper()
	raw, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{text("service.name", "ingester")}},
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "scope"}, Spans: spans}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func post(t *testing.T, r *Receiver, body []byte, header ...string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.Endpoint()+Path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	return response.StatusCode
}

func TestReceiverKeepsSpans(t *testing.T) {
	r := Start(t)
	body := message(t, &tracepb.Span{
		TraceId: []byte{1, 2}, SpanId: []byte{4}, ParentSpanId: []byte{3}, Name: "store", Kind: tracepb.Span_SPAN_KIND_PRODUCER,
		StartTimeUnixNano: 7, EndTimeUnixNano: 9, Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR},
		Attributes: []*commonpb.KeyValue{
			text("flotilla.kind", "Model"),
			{Key: "generation", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 2}}},
		},
		Links: []*tracepb.Span_Link{{TraceId: []byte{5}, SpanId: []byte{6}}},
	})
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(message(t, &tracepb.Span{TraceId: []byte{1, 2}, SpanId: []byte{3}, Name: "reconcile"})); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{post(t, r, body), post(t, r, packed.Bytes(), "Content-Encoding", "gzip")} {
		if status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	want := []Span{
		{Service: "ingester", Scope: "scope", Name: "reconcile", Trace: "0102", ID: "03", Kind: "unspecified", Start: time.Unix(0, 0), End: time.Unix(0, 0), Attributes: map[string]string{}},
		{
			Service: "ingester", Scope: "scope", Name: "store", Trace: "0102", ID: "04", Parent: "03", Kind: "producer", Failed: true,
			Start: time.Unix(0, 7), End: time.Unix(0, 9),
			Attributes: map[string]string{"flotilla.kind": "Model", "generation": "2"}, Links: []Link{{"05", "06"}},
		},
	}
	got := r.Spans()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("spans (-want +got):\n%s", diff)
	}
	chain, err := Chain(got, got[1])
	if err != nil || len(chain) != 2 || chain[0].Name != "reconcile" {
		t.Errorf("chain %v, error %v", chain, err)
	}
	if _, err := Chain(got[1:], got[1]); err == nil || !strings.Contains(err.Error(), "not received") {
		t.Errorf("chain without a root: %v", err)
	}
}

func TestReceiverRejectsInvalidRequests(t *testing.T) {
	for name, send := range map[string]func(*Receiver) int{
		"broken":        func(r *Receiver) int { return post(t, r, []byte{0xff}) },
		"JSON":          func(r *Receiver) int { return post(t, r, []byte("{}"), "Content-Type", "application/json") },
		"not packed":    func(r *Receiver) int { return post(t, r, []byte("x"), "Content-Encoding", "gzip") },
		"broken packed": func(r *Receiver) int { return post(t, r, []byte{0x1f, 0x8b}, "Content-Encoding", "gzip") },
	} {
		r, err := listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if status := send(r); status != http.StatusBadRequest || r.rejected() == nil || len(r.Spans()) > 0 {
			t.Errorf("%s: status %d, refused %v", name, status, r.rejected())
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
