package service

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// The result of the ping is that of all clients: one that disconnects must not make the others see a failure.
func TestReadinessIgnoresDisconnectedClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(server.Close)
	api, err := newAPIServer(&rest.Config{Host: server.URL}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	r, err := newReadiness(api, clk, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{gone, t.Context()} {
		if err := r.check(httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", http.NoBody)); err != nil {
			t.Errorf("not ready: %v", err)
		}
	}
	server.Close()
	clk.SetTime(clk.Now().Add(pingEvery))
	if err := r.check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)); err == nil {
		t.Error("ready without an API server")
	}
}
