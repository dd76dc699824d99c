// Package server implements the stub engine: the interface of a Firebolt engine to an operator, a gateway and a kubelet.
// Tests of the drain run it as processes (package stubengine), and the images of test/e2e run it in pods, with the
// command line and the configuration of a real engine.
//
// It has the three ports of an engine: queries, health and metrics. A query computes nothing; it takes the requested
// time, during which a gauge counts it. Until the engine is ready, and after SIGTERM, it rejects queries with a header on
// which the gateway retries another pod. Running queries may finish within the grace period and are then cut off.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Options configures an engine at its start.
type Options struct {
	// Addresses to listen on.
	Query, Health, Metrics string
	// Grace is the time for queries to finish after SIGTERM.
	Grace time.Duration
	// Settle is the minimum time during which the terminating engine, unready, rejects queries with the header before it
	// closes its ports. If it closed them immediately, connections in the accept queue would be reset, and clients could
	// not detect that their queries did not run. A gateway needs the interval and the timeout of a health check to react.
	Settle time.Duration
	// DataDir is the directory into which queries spill.
	DataDir  string
	Identity Identity
	// Start returns nil when the engine is ready for queries. If it is nil, the engine is ready immediately.
	Start func(context.Context) error
	Logf  func(format string, args ...any)
}

// Identity identifies the node that answers a query.
type Identity struct {
	Engine     string `json:"engine"`
	Generation int    `json:"generation"`
	Node       int    `json:"node"`
	Pod        string `json:"pod"`
	Version    string `json:"version"`
}

// Run runs the engine. When ctx ends, it rejects queries, lets running ones finish within the grace period, and returns.
// The error is not nil if queries were cut off.
func Run(ctx context.Context, o Options) error {
	q := newQueries(o)
	failed := make(chan error, 3)
	stop, err := listen(ctx, o, q, failed)
	if err != nil {
		return err
	}
	defer stop()
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if o.Start == nil || o.Start(starting) == nil {
			q.setReady()
			o.Logf("ready: %+v", o.Identity)
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	q.pause()
	o.Logf("terminating: queries may finish within %s", o.Grace)
	q.drain()
	minimum := time.NewTimer(o.Settle)
	defer minimum.Stop()
	timer := time.NewTimer(o.Grace)
	defer timer.Stop()
	select {
	case <-q.idle:
		<-minimum.C
		return nil
	case <-timer.C:
		close(q.aborted)
		return errors.New("grace period expired: queries were cut off")
	}
}

// listen opens all three ports. The returned function sends pending responses before it closes them.
func listen(ctx context.Context, o Options, q *queries, failed chan<- error) (stop func(), err error) {
	query, health, metrics := http.NewServeMux(), http.NewServeMux(), http.NewServeMux()
	query.Handle("/", q)
	query.HandleFunc("/health/", q.health) // the gateway's health check
	health.HandleFunc("/health/ready", q.health)
	health.HandleFunc("/health/live", q.health)
	health.HandleFunc("GET /control/stats", q.statsPage)
	health.HandleFunc("POST /control/metrics", q.setMode)
	health.HandleFunc("POST /control/freeze", q.freeze)
	metrics.HandleFunc("GET /metrics", q.metrics)
	metrics.HandleFunc("GET /quiet", func(w http.ResponseWriter, _ *http.Request) { page(w, Normal, Stats{}) })
	var servers []*http.Server
	stop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		for _, s := range servers {
			if s.Shutdown(ctx) != nil {
				_ = s.Close() //nolint:errcheck // the process exits
			}
		}
	}
	for _, s := range []*http.Server{{Addr: o.Query, Handler: query}, {Addr: o.Health, Handler: health}, {Addr: o.Metrics, Handler: metrics}} {
		s.Handler, s.ReadHeaderTimeout = q.freezable(s.Handler), 10*time.Second
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Addr)
		if err != nil {
			stop()
			return nil, fmt.Errorf("listen on %s: %w", s.Addr, err)
		}
		servers = append(servers, s)
		go func() {
			if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", s.Addr, err)
			}
		}()
	}
	return stop, nil
}

// health answers /health/ready and /health/live.
func (q *queries) health(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.URL.Path == "/health/ready" && (!q.ready || q.draining) {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (q *queries) statsPage(w http.ResponseWriter, _ *http.Request) {
	if err := json.NewEncoder(w).Encode(q.counts()); err != nil {
		q.Logf("answer with the counts: %v", err)
	}
}
