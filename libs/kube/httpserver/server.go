package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log" //nolint:depguard // http.Server.ErrorLog has its type
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
)

// Timeouts of a connection, in addition to [Options.RequestTimeout].
const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 15 * time.Second
	maxHeaderBytes  = 64 << 10
)

// Config configures a [Server].
type Config struct {
	Options Options
	Handler http.Handler
	Log     logr.Logger
	// Plain serves HTTP without TLS if Options.CertDir is empty; otherwise the server then
	// generates a certificate in memory.
	Plain bool
	// Streams sets the deadlines of each request rather than those of all connections, so that a handler
	// whose response takes longer than the timeout of a request can extend its write deadline. Such an API
	// takes no bodies: it does not wait for that of a request.
	Streams bool
	// OnShutdown is called before the server waits for running requests; it may be nil.
	OnShutdown func()
}

// Server serves an API. It is a runnable of every replica.
type Server struct {
	Config

	listening chan struct{} // closed once address is set
	address   string
}

// New returns a server for valid options that are [Options.Enabled]. It does not listen yet.
func New(c Config) *Server { return &Server{Config: c, listening: make(chan struct{})} }

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it serves until ctx ends, then lets requests finish.
// It serves once only.
func (s *Server) Start(ctx context.Context) error {
	cert, err := s.certificate()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Options.BindAddress)
	if err != nil {
		return fmt.Errorf("--api-bind-address cannot be used: %w", err)
	}
	s.address = listener.Addr().String()
	close(s.listening)
	server := s.server(ctx)
	server.TLSConfig = cert.config
	s.Log.Info("Serving the API", "address", s.address, "tls", cert.config != nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- cert.watch(ctx) }()
	go func() { ended <- serve(server, listener) }()
	select {
	case err = <-ended:
		if ctx.Err() == nil {
			return errors.Join(fmt.Errorf("serve the API: %w", err), server.Close())
		}
	case <-ctx.Done():
	}
	if s.OnShutdown != nil {
		s.OnShutdown()
	}
	return stop(context.WithoutCancel(ctx), server)
}

func (s *Server) certificate() (certificate, error) {
	switch {
	case s.Options.CertDir != "":
		return files(s.Options.CertDir)
	case s.Plain:
		return certificate{watch: waitDone}, nil
	}
	return inMemory()
}

func (s *Server) server(ctx context.Context) *http.Server {
	server := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// A client that aborts a handshake is not worth an error log.
		ErrorLog: log.New(lines{s.Log.V(1)}, "", 0),
		// Running requests outlive the signal.
		BaseContext: func(net.Listener) context.Context { return logr.NewContext(context.WithoutCancel(ctx), s.Log) },
	}
	if s.Streams {
		server.Handler = withDeadlines(s.Options.RequestTimeout, s.Log, s.Handler)
		return server
	}
	server.ReadTimeout = headerTimeout + s.Options.RequestTimeout
	server.WriteTimeout = headerTimeout + 2*s.Options.RequestTimeout
	return server
}

func serve(server *http.Server, listener net.Listener) error {
	if server.TLSConfig == nil {
		return server.Serve(listener)
	}
	return server.ServeTLS(listener, "", "")
}

func stop(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stop the API: %w", err), server.Close())
	}
	return nil
}

// Check is a readiness check, which fails until the server listens: the manager starts it after all caches are filled.
func (s *Server) Check(*http.Request) error {
	select {
	case <-s.listening:
		return nil
	default:
		return errors.New("the API does not listen yet")
	}
}

// Address waits until the server listens and returns its address.
func (s *Server) Address(ctx context.Context) (string, error) {
	select {
	case <-s.listening:
		return s.address, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// lines writes the lines of net/http to a logger.
type lines struct{ log logr.Logger }

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.log.Info("Connection failed", "reason", string(line))
	return len(line), nil
}
