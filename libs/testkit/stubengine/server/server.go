// Package server is the stub engine: what an operator, a gateway and a kubelet see of a Firebolt engine. Tests of
// the drain run it as processes (package stubengine), and the images of test/e2e run it in pods, under the command line
// and the configuration of a real one.
//
// It has an engine's three ports: queries, health and metrics. A query computes nothing; it takes the requested time
// and is counted meanwhile in a gauge. Until the engine is ready, and after SIGTERM, it refuses queries with a header
// on which the gateway retries another pod; running queries may take the grace period to finish and are cut off after
// it.
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
	// Grace is how long queries may take after the engine received SIGTERM.
	Grace time.Duration
	// Settle is how long it keeps refusing queries with the marker, unready, before it may close its ports: if it
	// closed them at once, connections in the accept queue would be reset, and no client could tell that its query
	// was not run. A gateway needs a health check's interval and timeout to see it.
	Settle time.Duration
	// DataDir is where queries spill.
	DataDir  string
	Identity Identity
	// Start returns nil when the engine may take queries; without it that is at once.
	Start func(context.Context) error
	Logf  func(format string, args ...any)
}

// Identity identifies the node that answers.
type Identity struct {
	Engine     string `json:"engine"`
	Generation int    `json:"generation"`
	Node       int    `json:"node"`
	Pod        string `json:"pod"`
	Version    string `json:"version"`
}

// Run is the engine. When ctx ends it refuses queries, finishes those that run within the grace period, and returns;
// the error is not nil if some were cut off.
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
	o.Logf("ending: queries may take %s", o.Grace)
	q.drain()
	settled := time.NewTimer(o.Settle)
	defer settled.Stop()
	timer := time.NewTimer(o.Grace)
	defer timer.Stop()
	select {
	case <-q.idle:
		<-settled.C
		return nil
	case <-timer.C:
		close(q.over)
		return errors.New("the grace period is over and queries were cut off")
	}
}

// listen opens all three ports. What it returns lets answers go out before it closes them.
func listen(ctx context.Context, o Options, q *queries, failed chan<- error) (stop func(), err error) {
	query, health, metrics := http.NewServeMux(), http.NewServeMux(), http.NewServeMux()
	query.Handle("/", q)
	query.HandleFunc("/health/", q.health) // the gateway asks here
	health.HandleFunc("/health/ready", q.health)
	health.HandleFunc("/health/live", q.health)
	health.HandleFunc("GET /control/stats", q.statsPage)
	health.HandleFunc("POST /control/metrics", q.setMode)
	health.HandleFunc("POST /control/freeze", q.freeze)
	metrics.HandleFunc("GET /metrics", q.metrics)
	metrics.HandleFunc("GET /quiet", func(w http.ResponseWriter, _ *http.Request) { page(w, Sound, Stats{}) })
	var servers []*http.Server
	stop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		for _, s := range servers {
			if s.Shutdown(ctx) != nil {
				_ = s.Close() //nolint:errcheck // the process ends now
			}
		}
	}
	for _, s := range []*http.Server{{Addr: o.Query, Handler: query}, {Addr: o.Health, Handler: health}, {Addr: o.Metrics, Handler: metrics}} {
		s.Handler, s.ReadHeaderTimeout = q.unlessFrozen(s.Handler), 10*time.Second
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
