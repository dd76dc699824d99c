package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/access"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Timeouts of a connection, beside [Options.RequestTimeout].
const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 15 * time.Second
	maxHeaderBytes  = 64 << 10
)

// Store is what the API needs of storage.MetadataStorage.
type Store interface {
	GetByName(ctx context.Context, namespace, name string, object runtime.Object) error
	List(ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, listOptions *metav1.ListOptions, ext *storage.ListOptionsExt, response *storage.ListResponse) error
	DeleteCollection(ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, deleteOptions *metav1.DeleteOptions, listOptions *metav1.ListOptions) error
}

var _ Store = storage.MetadataStorage(nil)

// Config is what a server is made of. All fields but Registerer are required.
type Config struct {
	Options Options
	Gate    *access.Gate
	Cluster Cluster
	Store   Store
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	Log        logr.Logger
	Clock      clock.PassiveClock
}

// Server serves the API. It is a runnable of every replica.
type Server struct {
	options   Options
	handler   http.Handler
	log       logr.Logger
	listening chan struct{} // closed once address is set
	address   string
}

// New returns a server for valid options that are [Options.Enabled]. It does not listen yet.
func New(c Config) (*Server, error) {
	kinds, err := registry.Load()
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics of the API: %w", err)
	}
	a := &handlers{gate: c.Gate, cluster: c.Cluster, store: c.Store, kinds: kindsByPlural(kinds)}
	handler, err := a.handler(c, m)
	if err != nil {
		return nil, err
	}
	return &Server{options: c.Options, handler: handler, log: c.Log, listening: make(chan struct{})}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica answers.
func (s *Server) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it serves until ctx ends, then lets requests finish.
func (s *Server) Start(ctx context.Context) error {
	certificate, err := s.options.certificate()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.BindAddress)
	if err != nil {
		return fmt.Errorf("--api-bind-address cannot be used: %w", err)
	}
	s.address = listener.Addr().String()
	close(s.listening)
	server := &http.Server{
		Handler:           s.handler,
		TLSConfig:         certificate.config,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout + s.options.RequestTimeout,
		WriteTimeout:      headerTimeout + 2*s.options.RequestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// Callers that break off a handshake are no news.
		ErrorLog: log.New(lines{s.log.V(1)}, "", 0),
		// Requests that have begun outlive the signal.
		BaseContext: func(net.Listener) context.Context { return logr.NewContext(context.WithoutCancel(ctx), s.log) },
	}
	s.log.Info("Serving the API", "address", s.address)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- certificate.watch(ctx) }()
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	select {
	case err = <-ended:
		if ctx.Err() == nil {
			return errors.Join(fmt.Errorf("serve the API: %w", err), server.Close())
		}
	case <-ctx.Done():
	}
	return stop(context.WithoutCancel(ctx), server)
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

// lines writes the lines of net/http to a logger.
type lines struct{ log logr.Logger }

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.log.Info("Connection failed", "reason", string(line))
	return len(line), nil
}
