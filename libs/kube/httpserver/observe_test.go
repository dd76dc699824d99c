package httpserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"
)

// observed serves one request and returns the lines of the log and the metrics.
func observed(t *testing.T, method, url string, sources bool, h http.HandlerFunc) (string, *prometheus.Registry) {
	t.Helper()
	var log strings.Builder
	reg := prometheus.NewRegistry()
	o, err := httpserver.NewObserver(httpserver.ObserverConfig{
		Log:   funcr.NewJSON(func(line string) { fmt.Fprintln(&log, line) }, funcr.Options{Verbosity: 1}),
		Clock: clock.RealClock{}, Namespace: "test", Registerer: reg, Sources: sources,
	})
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	request.Header.Set("Authorization", "Bearer secret")
	fail := func(w http.ResponseWriter, r *http.Request, err error) {
		httpserver.ExchangeOf(r.Context()).Cause = err
		httpserver.Write(w, http.StatusInternalServerError, "text/plain", []byte("sorry"))
	}
	o.Observe(httpserver.Recovered(fail, httpserver.WithRoute("/things/{name}", h))).ServeHTTP(httptest.NewRecorder(), request)
	return log.String(), reg
}

func TestObserveLogsRequests(t *testing.T) {
	tests := map[string]struct {
		method  string
		sources bool
		answer  http.HandlerFunc
		want    string
	}{
		"a read is logged at debug level": {http.MethodGet, false, func(w http.ResponseWriter, r *http.Request) {
			httpserver.ExchangeOf(r.Context()).User = "ada"
			httpserver.Write(w, http.StatusOK, "text/plain", []byte("four"))
		}, `"level":1,"msg":"Served request","method":"GET","path":"/things/one","code":200,"user":"ada","bytes":4,`},
		"a deletion is logged at info level": {http.MethodDelete, true, func(w http.ResponseWriter, r *http.Request) {
			httpserver.ExchangeOf(r.Context()).Source = "storage"
			w.WriteHeader(http.StatusAccepted)
		}, `"level":0,"msg":"Served request","method":"DELETE","path":"/things/one","code":202,"user":"","source":"storage","bytes":0,`},
		"a failure is logged with its cause": {http.MethodGet, false, func(w http.ResponseWriter, r *http.Request) {
			httpserver.ExchangeOf(r.Context()).Cause = errors.New("the disk is full")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, `"reason":"the disk is full"`},
		"a panic is logged as a failure": {
			http.MethodGet, false, func(http.ResponseWriter, *http.Request) { panic("so it goes") },
			`"level":0,"msg":"Request failed","method":"GET","path":"/things/one","code":500,`,
		},
		"a panic after the response began is only logged": {http.MethodGet, false, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			panic("too late")
		}, `"reason":"panic: too late`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			log, _ := observed(t, tc.method, "/things/one?password=hunter2", tc.sources, tc.answer)
			if !strings.Contains(log, tc.want) {
				t.Errorf("%s is missing in\n%s", tc.want, log)
			}
			if strings.Contains(log, "hunter2") || strings.Contains(log, "secret") || strings.Count(log, "\n") != 1 {
				t.Errorf("want one line without secrets:\n%s", log)
			}
		})
	}
}

func TestObserveCountsRequestsAndTimesNonStreams(t *testing.T) {
	for stream, durations := range map[bool]int{false: 1, true: 0} {
		_, reg := observed(t, "BREW", "/things/one", false, func(w http.ResponseWriter, r *http.Request) {
			httpserver.ExchangeOf(r.Context()).Stream = stream
			w.WriteHeader(http.StatusTeapot)
		})
		want := `
# HELP test_api_requests_total Total number of requests to the HTTP API.
# TYPE test_api_requests_total counter
test_api_requests_total{code="418",method="other",route="/things/{name}"} 1
`
		if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "test_api_requests_total"); err != nil {
			t.Error(err)
		}
		if n, err := testutil.GatherAndCount(reg, "test_api_request_duration_seconds"); err != nil || n != durations {
			t.Errorf("stream %v: %d series of durations, %v, want %d", stream, n, err, durations)
		}
	}
}

func TestExchangeIsOptionalOutsideObserve(t *testing.T) {
	h := httpserver.WithRoute("/page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/page", http.NoBody))
	if answer.Code != http.StatusNoContent {
		t.Errorf("status is %d", answer.Code)
	}
}
