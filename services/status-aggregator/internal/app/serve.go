package app

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/httpserver"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/httpapi"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// ServeConfig holds the dependencies of the HTTP API.
type ServeConfig struct {
	Manager    ctrl.Manager
	Bus        readmodel.Bus
	Kinds      registry.Set
	Cluster    string
	Options    httpapi.Options
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Serve adds the HTTP API to the manager, on every replica. It shares the
// cache of the manager. The server is nil when the options disable it.
func Serve(cfg ServeConfig) (*httpserver.Server, error) {
	if !cfg.Options.Enabled() {
		return nil, nil
	}
	authorizer, err := access.New(cfg.Manager.GetConfig(), access.Options{Audiences: cfg.Options.TokenAudiences})
	if err != nil {
		return nil, err
	}
	view := readmodel.NewView(readmodel.Config{
		Cache: cfg.Manager.GetCache(), Bus: cfg.Bus, Kinds: cfg.Kinds, Cluster: cfg.Cluster,
		Clock: cfg.Clock, Log: cfg.Log.WithName("readmodel"),
	})
	hub := readmodel.NewHub(readmodel.HubConfig{Bus: cfg.Bus, Cluster: cfg.Cluster, Clock: cfg.Clock, Log: cfg.Log.WithName("events")})
	server, err := httpapi.New(httpapi.Config{
		Options: cfg.Options, Authorizer: authorizer, View: view, Hub: hub, Kinds: cfg.Kinds,
		Registerer: cfg.Registerer, Log: cfg.Log.WithName("api"), Clock: cfg.Clock,
	})
	if err != nil {
		return nil, err
	}
	if err := cfg.Manager.AddReadyzCheck("http-api", server.Check); err != nil {
		return nil, err
	}
	for _, r := range []starter{view, hub, server} {
		if err := cfg.Manager.Add(r); err != nil {
			return nil, fmt.Errorf("add %T: %w", r, err)
		}
	}
	return server, nil
}
