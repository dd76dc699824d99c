package load

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine"
)

// TestExecutionsAreCounted sends requests to a real stub engine: directly, through a proxy that sends each a second time,
// and through one that drops the header of the report.
func TestExecutionsAreCounted(t *testing.T) {
	engine := stubengine.Start(t)
	ports, err := stubengine.Ports()
	if err != nil {
		t.Fatal(err)
	}
	target := &url.URL{Scheme: "http", Host: engine.Address + ":" + strconv.Itoa(ports.Query)}
	for name, c := range map[string]struct {
		handle func(proxy http.Handler) http.HandlerFunc
		want   Figures // of three requests
	}{
		"once": {
			func(proxy http.Handler) http.HandlerFunc { return proxy.ServeHTTP },
			Figures{Executed: 3},
		},
		"twice": {
			func(proxy http.Handler) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					proxy.ServeHTTP(httptest.NewRecorder(), r.Clone(r.Context()))
					proxy.ServeHTTP(w, r)
				}
			},
			Figures{Executed: 3, Twice: 3},
		},
		"unreported": {
			func(proxy http.Handler) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					r.Header = http.Header{}
					proxy.ServeHTTP(w, r)
				}
			},
			Figures{Unreported: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := NewRecorder(time.Now, "p")
			control := httptest.NewServer(Control(recorder))
			defer control.Close()
			proxy := httptest.NewServer(c.handle(httputil.NewSingleHostReverseProxy(target)))
			defer proxy.Close()
			one := newClient(Request{
				Method: http.MethodPost, URL: proxy.URL, Timeout: time.Minute, ExecutionURL: control.URL + "/executed",
			}, false)
			defer one.http.CloseIdleConnections()
			for range 3 {
				recorder.Add(one.do(t.Context()))
			}
			got := recorder.Figures()[0]
			if got.Answers != 3 || got.Failed != 0 {
				t.Errorf("%d answers, %d of them failed: %v", got.Answers, got.Failed, got.Failures)
			}
			if got.Executed != c.want.Executed || got.Twice != c.want.Twice || got.Unreported != c.want.Unreported {
				t.Errorf("got executed %d, twice %d, unreported %d, want %d, %d, %d",
					got.Executed, got.Twice, got.Unreported, c.want.Executed, c.want.Twice, c.want.Unreported)
			}
		})
	}
}

func TestRepeatedReportCountsOnce(t *testing.T) {
	recorder := NewRecorder(func() time.Time { return start }, "p")
	recorder.Executed("a", "pod-1")
	recorder.Executed("a", "pod-1")
	if f := recorder.Figures()[0]; f.Executed != 1 || f.Twice != 0 {
		t.Errorf("%+v", f)
	}
	recorder.Executed("a", "pod-2")
	if f := recorder.Figures()[0]; f.Executed != 1 || f.Twice != 1 || len(f.Failures) != 1 {
		t.Errorf("%+v", f)
	}
}
