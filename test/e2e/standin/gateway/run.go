// Package gateway imitates the Envoy of an instance from the configuration that the engine operator renders for it: the
// same listeners, its Lua filter, its route, retries, DNS and health checks. README.md of this module says what is not
// imitated.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Run serves until ctx ends, and then closes everything at once, as Envoy does.
func Run(ctx context.Context, c Config, lookup Lookup, logf func(string, ...any)) error {
	filter, err := newScript(c.Script)
	if err != nil {
		return err
	}
	p := &proxy{config: c, script: filter, clusters: newClusters(ctx, c.Hosts, lookup, logf), transport: transport(c.Hosts), logf: logf}
	failed := make(chan error, 3)
	for at, handler := range map[string]http.Handler{c.Query: p, c.Stats: p.stats(), c.Admin: p.admin()} {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", at, err)
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 60 * time.Second}
		defer server.Close() //nolint:errcheck // the process ends
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", at, err)
			}
		}()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// admin is the part of Envoy's own interface that the pod's preStop and the metrics use.
func (p *proxy) admin() http.Handler {
	mux := http.NewServeMux()
	set := func(failing bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			p.failing.Store(failing)
			fmt.Fprintln(w, "OK")
		}
	}
	mux.HandleFunc("POST /healthcheck/fail", set(true))
	mux.HandleFunc("POST /healthcheck/ok", set(false))
	mux.HandleFunc("GET "+metricsPath, p.metrics)
	return mux
}

// stats shows health and metrics, and nothing else.
func (p *proxy) stats() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+healthPath, p.health)
	mux.HandleFunc("GET "+metricsPath, p.metrics)
	return mux
}

func (p *proxy) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	for _, m := range []struct {
		name  string
		value int64
	}{
		{"envoy_standin_queries_total", p.queries.Load()},
		{"envoy_standin_retries_total", p.retries.Load()},
		{"envoy_standin_unanswered_total", p.unhealthy.Load()},
	} {
		fmt.Fprintf(w, "# TYPE %s counter\n%s %d\n", m.name, m.name, m.value)
	}
}
