package httpapi

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// blocking is a cluster that responds once it is released.
type blocking struct {
	*fakeCluster
	started chan struct{}
	release chan struct{}
}

func (c *blocking) Get(ctx context.Context, kind *registry.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	c.started <- struct{}{}
	select {
	case <-c.release:
		return model(1), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestTooManyRequestsAreRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		limit func(*Options)
		want  string
	}{
		"of all users": {func(o *Options) { o.MaxRequests = 1 }, "too many requests at the same time, try again"},
		"of one user":  {func(o *Options) { o.MaxRequestsPerUser = 1 }, "too many requests of one user at the same time, try again"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &blocking{started: make(chan struct{}), release: make(chan struct{})}
			b := newEnv(t, func(config *Config) {
				config.Cluster = c
				tc.limit(&config.Options)
			})
			var first sync.WaitGroup
			first.Go(func() {
				if a := b.send(http.MethodGet, churn, ""); a.StatusCode != http.StatusOK {
					t.Errorf("the first got status %d", a.StatusCode)
				}
			})
			<-c.started
			a := b.send(http.MethodGet, objects, "")
			b.status(a, http.StatusTooManyRequests, tc.want)
			if a.Header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q", a.Header.Get("Retry-After"))
			}
			if n := gauge(t, b.metrics, "flotilla_ingester_api_requests_in_flight"); n != 1 {
				t.Errorf("%v requests are in flight, want 1", n)
			}
			close(c.release)
			first.Wait()
			if a := b.send(http.MethodGet, objects, ""); a.StatusCode != http.StatusOK {
				t.Errorf("then the status is %d", a.StatusCode)
			}
			if n := gauge(t, b.metrics, "flotilla_ingester_api_requests_in_flight"); n != 0 {
				t.Errorf("%v requests are in flight, want 0", n)
			}
		})
	}
}

func gauge(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

func TestRequestHasTimeout(t *testing.T) {
	c := &blocking{started: make(chan struct{}, 1), release: make(chan struct{})}
	b := newEnv(t, func(config *Config) {
		config.Cluster, config.Options.RequestTimeout = c, 200*time.Millisecond
	})
	a := b.send(http.MethodGet, churn, "")
	if a.StatusCode != http.StatusGatewayTimeout && a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status is %d, want a timeout", a.StatusCode)
	}
}

func TestLogOmitsSecrets(t *testing.T) {
	b := newEnv(t)
	b.cluster.object = model(1)
	b.send(http.MethodGet, churn, "")
	b.send(http.MethodDelete, churn, "")
	b.send(http.MethodGet, objects+"?fieldSelector=spec.owner.name%3Dhunter2", "")
	logged := b.logged()
	for _, want := range []string{
		`"level":1,"msg":"Served request","method":"GET","path":"` + churn + `","code":200,"user":"ada","source":"cluster"`,
		`"level":0,"msg":"Served request","method":"DELETE","path":"` + churn + `","code":202,"user":"ada","source":"cluster"`,
		`"path":"` + objects + `"`,
	} {
		if !strings.Contains(logged, want) {
			t.Errorf("%s is missing in\n%s", want, logged)
		}
	}
	for _, secret := range []string{"secret-token", "hunter2", "Bearer"} {
		if strings.Contains(logged, secret) {
			t.Errorf("the log has %s:\n%s", secret, logged)
		}
	}
}

func TestMetricsAreLabeledByRoute(t *testing.T) {
	b := newEnv(t)
	b.cluster.object = model(1)
	b.send(http.MethodGet, churn, "")
	b.send(http.MethodGet, objects+"/other", "")
	b.send(http.MethodGet, objects+"/other", "")
	b.send("BREW", "/tea", "")
	b.token = ""
	b.send(http.MethodGet, churn, "")
	want := `
# HELP flotilla_ingester_api_requests_total Total number of requests to the HTTP API.
# TYPE flotilla_ingester_api_requests_total counter
flotilla_ingester_api_requests_total{code="200",method="GET",route="` + pathObject + `"} 1
flotilla_ingester_api_requests_total{code="404",method="GET",route="` + pathObject + `"} 2
flotilla_ingester_api_requests_total{code="404",method="other",route="other"} 1
flotilla_ingester_api_requests_total{code="401",method="GET",route="other"} 1
`
	if err := testutil.GatherAndCompare(b.metrics, strings.NewReader(want), "flotilla_ingester_api_requests_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(b.metrics, "flotilla_ingester_api_request_duration_seconds"); err != nil || n != 3 {
		t.Errorf("%d series of durations, %v", n, err)
	}
}

func TestSpansUseRouteNamesAndCallerTrace(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	b := newEnv(t)
	b.cluster.object = model(1)
	b.send(http.MethodGet, churn, "")
	ended := spans.Ended()
	if len(ended) != 1 || ended[0].Name() != "GET "+pathObject {
		t.Fatalf("spans %v", ended)
	}
	for _, a := range ended[0].Attributes() {
		if strings.Contains(a.Value.String(), "secret-token") {
			t.Errorf("attribute %s has the token", a.Key)
		}
	}
}

func TestLargeResponsesAreCompressed(t *testing.T) {
	b := newEnv(t)
	large := model(1)
	if err := unstructured.SetNestedField(large.Object, strings.Repeat("x", 2*compressFrom), "spec", "description"); err != nil {
		t.Fatal(err)
	}
	b.cluster.object = large
	router := b.router
	b.router = noRoutes{} // the document describes uncompressed responses
	a := b.send(http.MethodGet, churn, "", "Accept-Encoding", "gzip")
	if a.Header.Get("Content-Encoding") != "gzip" || len(a.body) > compressFrom {
		t.Fatalf("%d bytes, headers %v", len(a.body), a.Header)
	}
	reader, err := gzip.NewReader(strings.NewReader(string(a.body)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil || len(plain) < 2*compressFrom {
		t.Errorf("%d bytes, %v", len(plain), err)
	}
	b.router = router
	b.cluster.object = model(1)
	if a := b.send(http.MethodGet, churn, "", "Accept-Encoding", "gzip"); a.Header.Get("Content-Encoding") != "" {
		t.Error("a small response is compressed")
	}
}
