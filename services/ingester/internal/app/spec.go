package app

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/controller/sync"
	ingestermetrics "github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// Spec declares the service.
func Spec() service.Spec {
	o := &Options{}
	return service.Spec{
		Name:     "ingester",
		Flags:    o.addFlags,
		Env:      map[string]string{"mysql-dsn": "MYSQL_DSN"},
		Validate: o.Validate,
		Setup: func(ctx context.Context, rt *service.Runtime) error {
			return Setup(ctx, rt, o, metrics.Registry)
		},
		Commands: map[string]service.Command{
			"migrate": {Help: "migrate status|up|verify: show, apply or check the database schema", Run: o.migrate},
		},
	}
}

// Setup puts the ingester on a manager.
func Setup(ctx context.Context, rt *service.Runtime, o *Options, registerer prometheus.Registerer) error {
	m, err := ingestermetrics.New(registerer)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	wake := func() {}
	// The store outlives the signal: it ends when the controllers have ended.
	store, err := mysql.Open(context.WithoutCancel(ctx), mysql.Options{
		DSN: o.MySQLDSN, Metrics: m, Log: rt.Log.WithName("storage"), Clock: rt.Clock,
		Outbox: rt.Bus != nil, OnCommit: func() { wake() },
	})
	if err != nil {
		return fmt.Errorf("--mysql-dsn: %w", err)
	}
	if err := rt.AddReadyzCheck("mysql", func(req *http.Request) error { return store.Ready(req.Context()) }); err != nil {
		return err
	}
	if err := addStore(rt, store); err != nil {
		return err
	}
	if rt.Bus != nil {
		relay := outbox.New(outbox.Config{
			DB: store.DB(), JetStream: rt.Bus.JetStream(), Connected: rt.Bus.Connected, Cluster: rt.Options.ClusterName,
			Metrics: m, Log: rt.Log.WithName("outbox"), Clock: rt.Clock, Ready: store.Prepared(),
		})
		wake = relay.Wake
		rt.Bus.OnReconnect(relay.Reconnected)
		if err := rt.Add(relay); err != nil {
			return fmt.Errorf("add the outbox relay: %w", err)
		}
	} else {
		rt.Log.Info("No bus is configured, change events are off")
	}
	return addControllers(rt, store, m, o)
}

func addControllers(rt *service.Runtime, store *mysql.Storage, m *ingestermetrics.Metrics, o *Options) error {
	kinds, err := registry.Load()
	if err != nil {
		return err
	}
	rt.Log.Info("Setting up ingester controllers")
	for _, kind := range kinds.Kinds() {
		c := sync.New(rt, store, m, sync.Config{
			Kind: kind, Workers: o.workers(kind.Name), RequeuePeriod: o.requeuePeriod(kind.Name),
			EvictImmutableKinds: o.EvictImmutableKinds,
		})
		if err := c.Register(rt); err != nil {
			return fmt.Errorf("register the controller of %s: %w", kind.Name, err)
		}
		rt.Log.Info("Ingester controller registered successfully", "kind", kind.Name)
	}
	return nil
}
