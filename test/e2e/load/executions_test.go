package load

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/fireboltsdk"
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

// buffered reads the body of a request before the proxy sends it. The server closes the body of a request once the engine
// answers, and a transport that has not read its end yet then closes the connection to the engine (golang/go#40747).
func buffered(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
}

// TestSDKQueriesAreCounted sends queries with Firebolt's own client: to a real stub engine, and through a proxy that sends
// each a second time.
func TestSDKQueriesAreCounted(t *testing.T) {
	engine := stubengine.Start(t)
	ports, err := stubengine.Ports()
	if err != nil {
		t.Fatal(err)
	}
	target := &url.URL{Scheme: "http", Host: engine.Address + ":" + strconv.Itoa(ports.Query)}
	direct := httputil.NewSingleHostReverseProxy(target)
	for name, handler := range map[string]http.Handler{
		"once": buffered(direct),
		"twice": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			for _, to := range []http.ResponseWriter{httptest.NewRecorder(), w} {
				again := r.Clone(r.Context())
				again.Body = io.NopCloser(bytes.NewReader(body))
				direct.ServeHTTP(to, again)
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			recorder := NewRecorder(time.Now, "p")
			control, proxy := httptest.NewServer(Control(recorder)), httptest.NewServer(handler)
			defer control.Close()
			defer proxy.Close()
			var output bytes.Buffer
			sdk := fireboltsdk.Command(t, "../images/firebolt-sdk/queries.py", proxy.URL, "etl", control.URL+"/answered", control.URL+"/executed")
			sdk.Stderr = &output
			if err := sdk.Start(); err != nil {
				t.Fatal(err)
			}
			var got Figures
			expect.Eventually(t, expect.Long, func() error {
				if got = recorder.Figures()[0]; got.Answers < 3 {
					return fmt.Errorf("%d answers", got.Answers)
				}
				return nil
			})
			_ = sdk.Process.Kill()
			_ = sdk.Wait()
			if got.Failed != 0 || got.Unreported != 0 || got.Classes["sdk row"] != got.Answers || (got.Twice > 0) != (name == "twice") {
				t.Errorf("%+v\n%s", got, &output)
			}
		})
	}
}
