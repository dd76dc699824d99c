package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/live"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Timeouts of a connection, beside [Options.RequestTimeout].
const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 15 * time.Second
	maxHeaderBytes  = 64 << 10
)

// Config is what a server is made of. All fields but Registerer and Heartbeat are required.
type Config struct {
	Options Options
	Gate    Gate
	View    View
	Hub     *live.Hub
	Kinds   registry.Set
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	Log        logr.Logger
	Clock      clock.WithTicker
	// Heartbeat is the pause between two signs of life on a stream; zero means 15 s.
	Heartbeat time.Duration
}

// Server serves the API. It is a runnable of every replica.
type Server struct {
	options   Options
	handler   http.Handler
	log       logr.Logger
	clock     clock.PassiveClock
	stopping  chan struct{}
	listening chan struct{} // closed once address is set
	address   string
}

// New returns a server for valid options that are [Options.Enabled]. It does not listen yet.
func New(c Config) (*Server, error) {
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics of the API: %w", err)
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = heartbeat
	}
	a := &handlers{
		gate: c.Gate, view: c.View, hub: c.Hub, kinds: c.Kinds, clock: c.Clock,
		heartbeat: c.Heartbeat, metrics: m, stopping: make(chan struct{}),
	}
	handler, err := a.handler(c)
	if err != nil {
		return nil, err
	}
	return &Server{
		options: c.Options, handler: handler, log: c.Log, clock: c.Clock, stopping: a.stopping, listening: make(chan struct{}),
	}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica answers.
func (s *Server) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it serves until ctx ends, then ends the streams and
// lets requests finish. It serves once only.
func (s *Server) Start(ctx context.Context) error {
	config, watch, err := s.options.certificate()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.BindAddress)
	if err != nil {
		return fmt.Errorf("--api-bind-address cannot be used: %w", err)
	}
	s.address = listener.Addr().String()
	close(s.listening)
	server := s.server(ctx)
	server.TLSConfig = config
	s.log.Info("Serving the API", "address", s.address, "tls", config != nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- watch(ctx) }()
	go func() {
		if config == nil {
			ended <- server.Serve(listener)
			return
		}
		ended <- server.ServeTLS(listener, "", "")
	}()
	select {
	case err = <-ended:
		if ctx.Err() == nil {
			return errors.Join(fmt.Errorf("serve the API: %w", err), server.Close())
		}
	case <-ctx.Done():
	}
	close(s.stopping)
	return stop(context.WithoutCancel(ctx), server)
}

func (s *Server) server(ctx context.Context) *http.Server {
	return &http.Server{
		Handler:           s.deadline(s.handler),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// Callers that break off a handshake are no news.
		ErrorLog: log.New(lines{s.log.V(1)}, "", 0),
		// Requests that have begun outlive the signal.
		BaseContext: func(net.Listener) context.Context { return logr.NewContext(context.WithoutCancel(ctx), s.log) },
	}
}

// deadline bounds reading and writing of one request. A stream moves the second one on.
func (s *Server) deadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		until := s.clock.Now().Add(2 * s.options.RequestTimeout)
		if err := control.SetWriteDeadline(until); err != nil {
			s.log.V(1).Info("Bounded a request in vain", "reason", err.Error())
		}
		next.ServeHTTP(w, r)
	})
}

func stop(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stop the API: %w", err), server.Close())
	}
	return nil
}

// Address waits until the server listens and says where.
func (s *Server) Address(ctx context.Context) (string, error) {
	select {
	case <-s.listening:
		return s.address, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// certificate returns nil for plain HTTP, and what keeps the certificate up to date.
func (o *Options) certificate() (*tls.Config, func(context.Context) error, error) {
	if o.CertDir == "" {
		return nil, func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
	}
	watcher, err := certwatcher.New(filepath.Join(o.CertDir, certFile), filepath.Join(o.CertDir, keyFile))
	if err != nil {
		return nil, nil, fmt.Errorf("--api-cert-dir: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: watcher.GetCertificate}, watcher.Start, nil
}

// lines writes the lines of net/http to a logger.
type lines struct{ log logr.Logger }

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.log.Info("Connection failed", "reason", string(line))
	return len(line), nil
}
