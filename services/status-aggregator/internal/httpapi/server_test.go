package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
	"github.com/flotilla-dev/flotilla/libs/testkit/certdir"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
)

// With a certificate all requests use TLS, including streams over HTTP/2.
func TestServerUsesTLS(t *testing.T) {
	dir := t.TempDir()
	roots := certdir.Write(t, dir)
	b := newTestEnv(t, func(_ *testEnv, c *Config) { c.Options.CertDir = dir })
	plain, err := b.client.Do(b.request(http.MethodGet, statusapi.PathPage))
	if err != nil {
		t.Fatal(err)
	}
	plain.Body.Close()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP returned %d", plain.StatusCode)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	b.client, b.base = &http.Client{Transport: transport}, strings.Replace(b.base, "http:", "https:", 1)
	b.login("ada", b.Namespace)
	f := b.follow("")
	if f.ProtoMajor != 2 {
		t.Errorf("the stream is %s", f.Proto)
	}
	f.wantEvent(b.happens(b.Namespace, "main"), "main")
	f.nextHeartbeat()
	b.stop()
	f.waitForEnd(endShutdown)
}

// failing is a view that fails.
type failing struct{ f func() error }

func (b failing) List(readmodel.Filter) ([]statusapi.Resource, error) { return nil, b.f() }

func (b failing) Detail(context.Context, string, contract.Kind, string, int) (statusapi.ResourceDetail, error) {
	return statusapi.ResourceDetail{}, b.f()
}

// The response to an internal error has no details; the log has them, without the token.
func TestServerHidesInternalErrors(t *testing.T) {
	var log bytes.Buffer
	view := &failing{}
	b := newTestEnv(t, func(_ *testEnv, c *Config) {
		c.View = view
		c.Log = funcr.New(func(_, args string) { fmt.Fprintln(&log, args) }, funcr.Options{Verbosity: 1})
	})
	view.f = func() error { return readmodel.ErrNotReady }
	b.login("ada")
	for name, tc := range map[string]struct {
		f      func() error
		status int
		code   string
	}{
		"a panic":       {func() error { panic("secret of ours") }, http.StatusInternalServerError, "Internal"},
		"an error":      {func() error { return errors.New("secret of ours") }, http.StatusInternalServerError, "Internal"},
		"too early":     {func() error { return readmodel.ErrNotReady }, http.StatusServiceUnavailable, "Unavailable"},
		"took too long": {func() error { return context.DeadlineExceeded }, http.StatusServiceUnavailable, "Unavailable"},
	} {
		view.f = tc.f
		a := b.get(statusapi.PathResources)
		b.wantError(a, tc.status, tc.code, "")
		if strings.Contains(string(a.body), "secret") || a.StatusCode == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %v %s", name, a.Header, a.body)
		}
	}
	b.stop() // stop logging
	if text := log.String(); !strings.Contains(text, "secret of ours") || strings.Contains(text, b.token) {
		t.Errorf("the log lacks the cause or has the token:\n%s", text)
	}
}

// The authorizer's message names the permission that the service lacks.
func TestServerPassesMessageOfAuthorizer(t *testing.T) {
	w := httptest.NewRecorder()
	fail(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), apierrors.NewInternalError(errors.New("the service may not create reviews")))
	if body := w.Body.String(); w.Code != http.StatusInternalServerError || !strings.Contains(body, `"Internal"`) || !strings.Contains(body, "may not create reviews") {
		t.Errorf("got %d %s", w.Code, body)
	}
}

func TestServerLimitsAndCountsRequests(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	view := failing{func() error {
		entered <- struct{}{}
		<-leave
		return readmodel.ErrNotReady
	}}
	b := newTestEnv(t, func(_ *testEnv, c *Config) { c.View, c.Options.MaxRequests = view, 1 })
	b.login("ada")
	done := make(chan response)
	go func() { done <- b.get(statusapi.PathResources) }()
	<-entered
	b.wantError(b.get(statusapi.PathResources), http.StatusTooManyRequests, "TooManyRequests", "too many requests")
	close(leave)
	<-done
	expect.Eventually(t, expect.Long, func() error {
		var want strings.Builder
		want.WriteString("# HELP flotilla_status_api_requests_total Total number of requests to the HTTP API.\n# TYPE flotilla_status_api_requests_total counter\n")
		for _, code := range []string{"429", "503"} {
			fmt.Fprintf(&want, "flotilla_status_api_requests_total{code=%q,method=\"GET\",route=%q} 1\n", code, statusapi.PathResources)
		}
		return testutil.GatherAndCompare(b.registry, strings.NewReader(want.String()), "flotilla_status_api_requests_total")
	})
}
