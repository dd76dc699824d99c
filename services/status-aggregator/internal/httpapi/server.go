package httpapi

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Config holds the dependencies of a server. All fields except Registerer and Heartbeat are required.
type Config struct {
	Options    Options
	Authorizer Authorizer
	View       View
	Hub        *readmodel.Hub
	Kinds      registry.Set
	// Registerer registers the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	Log        logr.Logger
	Clock      clock.WithTicker
	// Heartbeat is the interval of heartbeats on a stream; zero means 15 s.
	Heartbeat time.Duration
}

// New returns a server for valid and enabled options. It does not listen yet.
func New(c Config) (*httpserver.Server, error) {
	m, err := newMetrics(c.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register metrics of the API: %w", err)
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = heartbeat
	}
	a := &handlers{
		authorizer: c.Authorizer, view: c.View, hub: c.Hub, kinds: c.Kinds, clock: c.Clock,
		heartbeat: c.Heartbeat, metrics: m, stopping: make(chan struct{}),
	}
	handler, err := a.handler(c)
	if err != nil {
		return nil, err
	}
	return httpserver.New(httpserver.Config{
		Options: c.Options.Options, Handler: handler, Log: c.Log,
		Plain: true, Streams: true, OnShutdown: func() { close(a.stopping) },
	}), nil
}
