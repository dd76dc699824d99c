// Package server is the stand-in engine: the part of an engine that an operator sees.
//
// Three ports on one address, as an engine has them: queries, health and metrics. A query
// computes nothing; it is held for as long as its client asks, and counted meanwhile in
// the gauge of an engine. On SIGTERM (see [Server.Drain]) the engine is no longer ready,
// refuses new queries with the header that a gateway retries on, and lets those that run
// finish.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Drained is the response header by which an engine says that it refused a query because
// it is going, so that a gateway tries another one.
const Drained = "X-Firebolt-Drained"

// Ports of an engine.
type Ports struct{ Query, Health, Metrics int }

// Stats count queries.
type Stats struct {
	Running   int `json:"running"`
	Suspended int `json:"suspended"`
	// Finished queries were answered; Cut ones ended before their time.
	Finished int `json:"finished"`
	Cut      int `json:"cut"`
	// Scrapes are requests for metrics.
	Scrapes int `json:"scrapes"`
}

// Server is one engine node.
type Server struct {
	servers   []*http.Server
	listeners []net.Listener

	mu       sync.Mutex
	mode     Mode
	stats    Stats
	draining bool
	idle     chan struct{} // closed once draining and without queries
}

// Listen opens the ports; Serve answers on them.
func Listen(ctx context.Context, address string, ports Ports) (*Server, error) {
	s := &Server{idle: make(chan struct{})}
	for _, p := range []struct {
		port    int
		handler http.Handler
	}{{ports.Query, s.queries()}, {ports.Health, s.health()}, {ports.Metrics, s.metrics()}} {
		var config net.ListenConfig
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(p.port)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("listen: %w", err), s.Close())
		}
		s.listeners = append(s.listeners, l)
		s.servers = append(s.servers, &http.Server{Handler: p.handler, ReadHeaderTimeout: time.Minute})
	}
	return s, nil
}

// Serve answers until Close.
func (s *Server) Serve() error {
	failed := make(chan error, len(s.servers))
	for i, server := range s.servers {
		go func() { failed <- server.Serve(s.listeners[i]) }()
	}
	var all error
	for range s.servers {
		if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
			all = errors.Join(all, err, s.Close())
		}
	}
	return all
}

// Drain refuses new queries and returns when all others are answered, or when ctx ends.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	s.settle()
	s.mu.Unlock()
	select {
	case <-s.idle:
	case <-ctx.Done():
	}
	// The last answers may still be on their way.
	return s.servers[0].Shutdown(ctx)
}

// Close ends the server at once, and the queries with it.
func (s *Server) Close() error {
	var all error
	for i, l := range s.listeners {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			all = errors.Join(all, err)
		}
		all = errors.Join(all, s.servers[i].Close())
	}
	return all
}

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// settle closes idle when there is nothing left to wait for.
func (s *Server) settle() {
	if !s.draining || s.stats.Running+s.stats.Suspended > 0 {
		return
	}
	select {
	case <-s.idle:
	default:
		close(s.idle)
	}
}

func (s *Server) queries() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /query", func(w http.ResponseWriter, r *http.Request) {
		length, err := seconds(r.FormValue("seconds"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		end, ok := s.begin(r.FormValue("suspended") == "true")
		if !ok {
			w.Header().Set(Drained, "true")
			http.Error(w, "the engine is going", http.StatusServiceUnavailable)
			return
		}
		timer := time.NewTimer(length)
		defer timer.Stop()
		select {
		case <-timer.C:
			_, err = fmt.Fprintln(w, "done")
		case <-r.Context().Done():
			err = r.Context().Err()
		}
		end(err != nil)
	})
	return mux
}

// seconds reads a length such as 1.5.
func seconds(s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v < 1e6) {
		return 0, fmt.Errorf("seconds=%q is no length", s)
	}
	return time.Duration(v * float64(time.Second)), nil
}

// begin counts a query, unless the engine is going.
func (s *Server) begin(suspended bool) (end func(cut bool), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, false
	}
	gauge := &s.stats.Running
	if suspended {
		gauge = &s.stats.Suspended
	}
	*gauge++
	return func(cut bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		*gauge--
		if cut {
			s.stats.Cut++
		} else {
			s.stats.Finished++
		}
		s.settle()
	}, true
}

func (s *Server) health() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.draining {
			http.Error(w, "the engine is going", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /control/stats", func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(s.Stats()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /control/metrics", func(w http.ResponseWriter, r *http.Request) {
		m := Mode(r.FormValue("mode"))
		if !m.known() {
			http.Error(w, fmt.Sprintf("unknown mode %q", m), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mode = m
	})
	return mux
}
