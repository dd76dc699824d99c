package drain

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// serve serves on loopback until the test ends.
func serve(t *testing.T, handler http.HandlerFunc) (host string, port int) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		t.Fatal(err)
	}
	return host, port
}

// sampleOf checks one pod through the transport and returns the sample.
func sampleOf(t *testing.T, mode v1alpha1.ScrapeMode, transport Transport, p corev1.Pod) (Sample, string) {
	t.Helper()
	s := NewProber(map[v1alpha1.ScrapeMode]Transport{mode: transport}, clock.RealClock{}).Sample(t.Context(), mode, []corev1.Pod{p})
	if s.Err == nil {
		return s, ""
	}
	return s, errorText(s.Err)
}

func TestFailedScrapeIsNotZeroQueries(t *testing.T) {
	idlePage := page(0)
	cases := map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"a sound page": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, idlePage) }, ""},
		"another status quotes the answer": {
			func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "out\nof order", http.StatusInternalServerError)
			},
			`scrape pod "a-0": status 500 Internal Server Error: "out\nof order"`,
		},
		"a long answer is cut": {
			func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, strings.Repeat("x", 10_000), http.StatusTeapot)
			},
			`scrape pod "a-0": status 418 I'm a teapot: "` + strings.Repeat("x", maxQuote) + `"`,
		},
		"a redirect is not followed": {
			func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/quiet" {
					fmt.Fprint(w, idlePage)
					return
				}
				http.Redirect(w, r, "/quiet", http.StatusFound)
			},
			`scrape pod "a-0": status 302 Found: "<a href=\"/quiet\">Found</a>."`,
		},
		"success without a page": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
			`scrape pod "a-0": status 204 No Content: ""`,
		},
		"a connection that breaks": {
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			`scrape pod "a-0": EOF`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			host, port := serve(t, tc.handler)
			s, got := sampleOf(t, v1alpha1.ScrapePodIP, NewPodIP(port), pod("a-0", corev1.PodRunning, host))
			if got != tc.want || s.Queries != 0 || s.Pods != 1 {
				t.Errorf("error %s, want %s; sample %+v", got, tc.want, s)
			}
		})
	}
}

// The clock of synctest does not advance while the page is parsed, however slow the machine is.
func TestSampleRejectsPageBeyondLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		filler := strings.Repeat("other 1\n", maxBody/8)
		for text, want := range map[string]string{
			page(0) + filler: "",
			filler + page(0): `scrape pod "a-0": gauge firebolt_running_queries is missing`,
		} {
			transport := &pods{responses: map[string]string{"a-0": text}, scrapes: map[string]int{}}
			s, got := sampleOf(t, v1alpha1.ScrapePodIP, transport, pod("a-0", corev1.PodRunning, "10.0.0.1"))
			if got != want || s.Queries != 0 || s.Pods != 1 {
				t.Errorf("error %q, want %q; sample %+v", got, want, s)
			}
		}
	})
}

func TestSampleReportsUnreachablePod(t *testing.T) {
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	want := fmt.Sprintf(`scrape pod "a-0": dial tcp 127.0.0.1:%d: connect: connection refused`, port)
	if _, got := sampleOf(t, v1alpha1.ScrapePodIP, NewPodIP(port), pod("a-0", corev1.PodRunning, "127.0.0.1")); got != want {
		t.Errorf("error %s, want %s", got, want)
	}
	want = `scrape pod "a-0": the pod has no address`
	if _, got := sampleOf(t, v1alpha1.ScrapePodIP, NewPodIP(port), pod("a-0", corev1.PodRunning, "")); got != want {
		t.Errorf("error %s, want %s", got, want)
	}
}

func TestSampleTimesOutOnUnresponsivePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, got := sampleOf(t, v1alpha1.ScrapePodIP, &pods{scrapes: map[string]int{}}, pod("a-0", corev1.PodRunning, "10.0.0.1"))
		if want := `scrape pod "a-0": no answer within 3s`; got != want || time.Since(start) != podTimeout {
			t.Errorf("error %s after %s, want %s", got, time.Since(start), want)
		}
	})
}

func TestErrorTextIsStable(t *testing.T) {
	errs := []string{
		"read tcp 10.0.0.9:40001->10.0.0.1:9090: read: connection reset by peer",
		"read tcp 10.0.0.9:51234->10.0.0.1:9090: read: connection reset by peer",
	}
	for _, text := range errs {
		if got, want := errorText(fmt.Errorf("%s", text)), "read tcp 10.0.0.1:9090: read: connection reset by peer"; got != want {
			t.Errorf("error %s, want %s", got, want)
		}
	}
	if got := errorText(fmt.Errorf("%s", strings.Repeat("é", maxErrorLength))); len(got) > maxErrorLength+3 {
		t.Errorf("error text of %d bytes", len(got))
	}
}

func TestProxyQueriesAPIServer(t *testing.T) {
	mode := v1alpha1.ScrapeAPIServerProxy
	var request *http.Request
	respond := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page(2)) }
	host, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		request = r.Clone(context.WithoutCancel(r.Context()))
		respond(w, r)
	})
	config := &rest.Config{Host: "http://" + net.JoinHostPort(host, strconv.Itoa(port)), BearerToken: "token"}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := NewProxy(config, client)
	if err != nil {
		t.Fatal(err)
	}
	p := pod("a-0", corev1.PodRunning, "")
	p.Namespace = "n"
	if s, got := sampleOf(t, mode, proxy, p); got != "" || s.Queries != 2 {
		t.Errorf("error %s, sample %+v", got, s)
	}
	if want := "/api/v1/namespaces/n/pods/a-0:9090/proxy/metrics"; request.URL.Path != want || request.Header.Get("Authorization") != "Bearer token" {
		t.Errorf("requested %s, want %s; headers %v", request.URL.Path, want, request.Header)
	}
	respond = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"error trying to reach service: dial tcp 10.0.0.1:9090: i/o timeout","code":503}`)
	}
	want := `scrape pod "a-0": status 503 Service Unavailable: error trying to reach service: dial tcp 10.0.0.1:9090: i/o timeout`
	if _, got := sampleOf(t, mode, proxy, p); got != want {
		t.Errorf("error %s, want %s", got, want)
	}
	respond = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/quiet", http.StatusFound) }
	if _, got := sampleOf(t, mode, proxy, p); !strings.Contains(got, "status 302 Found") || request.URL.Path == "/quiet" {
		t.Errorf("error %s, last request %s: a redirect was followed", got, request.URL.Path)
	}
}
