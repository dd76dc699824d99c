package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// pingEvery limits how often readiness probes reach the API server.
const pingEvery = 3 * time.Second

// health serves /healthz and /readyz from the start of the process, also while it
// waits for the API server. The manager's own endpoints start too late for that: a
// liveness probe would kill a pod that only waits.
type health struct {
	mu     sync.Mutex
	live   map[string]healthz.Checker
	ready  map[string]healthz.Checker
	server *http.Server
}

func newHealth() *health {
	return &health{
		live:  map[string]healthz.Checker{"ping": healthz.Ping},
		ready: map[string]healthz.Checker{},
	}
}

// listen serves in the background; with an empty or disabled address it does nothing.
func (h *health) listen(ctx context.Context, address string) error {
	if address == Disabled {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return settingError("health-probe-bind-address", "cannot be used: %w", err)
	}
	mux := http.NewServeMux()
	h.handle(mux, "/healthz", h.live)
	h.handle(mux, "/readyz", h.ready)
	h.server = &http.Server{Handler: mux, ReadTimeout: pingTimeout} // also for a body, which no handler reads
	go func() {
		// Serve returns ErrServerClosed after close; a broken listener makes the
		// probes fail, as it should.
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return
		}
	}()
	return nil
}

func (h *health) close(ctx context.Context) error {
	if h.server == nil {
		return nil
	}
	return h.server.Shutdown(ctx)
}

func (h *health) handle(mux *http.ServeMux, path string, checks map[string]healthz.Checker) {
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		snapshot := make(map[string]healthz.Checker, len(checks))
		maps.Copy(snapshot, checks)
		h.mu.Unlock()
		(&healthz.Handler{Checks: snapshot}).ServeHTTP(w, r)
	})
	mux.Handle(path, http.StripPrefix(path, serve))
	mux.Handle(path+"/", http.StripPrefix(path, serve))
}

func (h *health) add(checks map[string]healthz.Checker, name string, check healthz.Checker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	checks[name] = check
}

// readiness checks that the API server responds. The result is cached for
// [pingEvery], so that frequent probes cost no requests, and exported as a metric.
type readiness struct {
	api   *apiServer
	clock clock.PassiveClock
	gauge prometheus.Gauge

	mu   sync.Mutex
	last time.Time
	err  error
}

func newReadiness(api *apiServer, c clock.PassiveClock, reg prometheus.Registerer) (*readiness, error) {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flotilla_api_server_reachable",
		Help: "Result of the last readiness probe of the API server: 1 if reached, 0 if not.",
	})
	if err := reg.Register(gauge); err != nil {
		return nil, err
	}
	return &readiness{api: api, clock: c, gauge: gauge}, nil
}

func (r *readiness) check(req *http.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.clock.Now(); r.last.IsZero() || now.Sub(r.last) >= pingEvery {
		r.last = now
		// All clients get the result, so none of them ends the request; the client of ping has a timeout.
		r.err = r.api.ping(context.WithoutCancel(req.Context()))
		r.gauge.Set(map[bool]float64{true: 1, false: 0}[r.err == nil])
	}
	return r.err
}

// withHealthcheck adds the command healthcheck to those of the service. An image that
// contains only the service has no other program for a health check.
func withHealthcheck(commands map[string]Command) map[string]Command {
	all := map[string]Command{"healthcheck": {
		Help: "Check the readiness of the service in this container; exit code 1 if it is not ready",
		Run: func(ctx context.Context, o Options, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("healthcheck takes no argument, got %q", args[0])
			}
			return checkReady(ctx, o.HealthAddr)
		},
	}}
	maps.Copy(all, commands)
	return all
}

// checkReady requests /readyz at the address that the service listens on, given the same settings.
func checkReady(ctx context.Context, address string) (err error) {
	if address == Disabled {
		return settingError("health-probe-bind-address", "is %s: the health endpoints are disabled", Disabled)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return settingError("health-probe-bind-address", "%w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	// Readiness itself may wait for a ping of the API server.
	ctx, cancel := context.WithTimeout(ctx, pingTimeout+pingTimeout/2)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	const enough = 4 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, enough))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
