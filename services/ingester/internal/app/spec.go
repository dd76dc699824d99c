package app

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/kube/access"
	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/controller/objectsync"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/failover"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/httpapi"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	ingestermetrics "github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/purge"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/sweep"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/webhook"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// Spec declares the service.
func Spec() service.Spec {
	o := &Options{}
	return service.Spec{
		Name:           "ingester",
		Flags:          o.addFlags,
		Env:            environment(),
		Validate:       o.Validate,
		ManagerOptions: o.Finalizer.ManagerOptions,
		Prerequisites:  o.prerequisites,
		Setup: func(ctx context.Context, rt *service.Runtime) error {
			return Setup(ctx, rt, o, metrics.Registry)
		},
		Commands: o.commands(),
	}
}

// prerequisites returns the kinds to watch. A CRD may be installed later: the other kinds do
// not wait for it.
func (o *Options) prerequisites() []service.Prerequisite {
	if !o.On() {
		return nil
	}
	kinds, err := registry.Load()
	if err != nil {
		return nil // Setup returns the error
	}
	var out []service.Prerequisite
	for _, kind := range kinds.Kinds() {
		resource := schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: kind.Plural}
		out = append(out, service.Prerequisite{GroupVersionResource: resource, Optional: true})
	}
	return out
}

// ingester holds the parts of one ingester during Setup.
type ingester struct {
	*service.Runtime
	o          *Options
	registerer prometheus.Registerer
	kinds      *registry.Registry
	metrics    *ingestermetrics.Metrics
	store      *mysql.Storage
	watch      *incarnation.Watch
	sweeper    *sweep.Sweeper
	checkpoint *checkpoint.Tracker
	// controllers has one controller for each kind.
	controllers []*objectsync.Reconciler
}

// Setup adds the ingester to a manager.
func Setup(ctx context.Context, rt *service.Runtime, o *Options, registerer prometheus.Registerer) error {
	if !o.On() {
		rt.Log.Info("Metadata storage not configured, skipping ingester controller setup")
		return nil
	}
	rt.Log.Info("Metadata storage enabled")
	i := &ingester{Runtime: rt, o: o, registerer: registerer}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"store", i.addStore},
		{"checkpoint", i.addCheckpoint},
		{"orphan sweep", i.addSweep},
		{"purge", i.addPurge},
		{"controllers", i.addControllers},
		{"failover monitor", i.addFailover},
		{"finalizer webhook", i.addWebhook},
		{"HTTP API", i.addAPI},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("set up the %s: %w", step.name, err)
		}
	}
	return nil
}

func (i *ingester) addStore(ctx context.Context) error {
	connector, err := i.o.MySQL.Connector()
	if err != nil {
		return err
	}
	if i.kinds, err = registry.Load(); err != nil {
		return err
	}
	if i.metrics, err = ingestermetrics.New(i.registerer); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	notify := func() {}
	// The store outlives the signal: addStore closes it after the controllers.
	i.store, err = mysql.Open(context.WithoutCancel(ctx), mysql.Options{
		Connector: connector, Pool: i.o.MySQL.Pool, Metrics: i.metrics, Log: i.Log.WithName("storage"), Clock: i.Clock,
		Outbox: i.Bus != nil, OnCommit: func() { notify() }, Settings: i.o.serverSettings(),
		StatementTimeout: i.o.API.StatementTimeout(), MaxPageBytes: httpapi.MaxPageBytes,
		Cluster: i.Options.ClusterName,
	})
	if err != nil {
		return err
	}
	if err := i.AddReadyzCheck("mysql", func(req *http.Request) error { return i.store.Ready(req.Context()) }); err != nil {
		return err
	}
	i.watch = &incarnation.Watch{
		DB: i.store.DB(), Kinds: i.kinds, APIReader: i.GetAPIReader(), Namespaces: i.Options.WatchNamespaces,
		Clock: i.Clock, Log: i.Log.WithName("incarnation"), Metrics: i.metrics,
	}
	if err := addStore(i.Runtime, i.store, i.watch); err != nil {
		return err
	}
	if i.Bus == nil {
		i.Log.Info("No bus is configured, change events are disabled")
		return nil
	}
	relay := outbox.New(outbox.Config{
		DB: i.store.DB(), JetStream: i.Bus.JetStream(), Connected: i.Bus.Connected, Denied: i.Bus.Denied, Cluster: i.Options.ClusterName,
		Metrics: i.metrics, Log: i.Log.WithName("outbox"), Clock: i.Clock, Ready: i.store.Prepared(),
	})
	notify = relay.Notify
	i.Bus.OnReconnect(relay.Reconnected)
	return i.Add(relay)
}

func (i *ingester) addCheckpoint(context.Context) (err error) {
	i.checkpoint, err = checkpoint.New(checkpoint.Config{
		DB:      i.store.DB(),
		Cluster: &checkpoint.Cluster{APIReader: i.GetAPIReader(), Writer: i.GetClient(), Namespace: i.Options.LeaderElectionNamespace},
		Clock:   i.Clock, Log: i.Log.WithName("checkpoint"), Events: i.GetEventRecorder("ingester"),
		Registerer: i.registerer, Ready: i.store.Prepared(),
	})
	if err != nil {
		return err
	}
	return i.Add(i.checkpoint)
}

func (i *ingester) addSweep(context.Context) (err error) {
	i.sweeper, err = sweep.New(sweep.Config{
		Options: i.o.Sweep, DB: i.store.DB(), Kinds: i.kinds.Kinds(), Close: i.store.CloseRows, Checkpoint: i.checkpoint.Check, APIReader: i.GetAPIReader(),
		Namespaces: i.Options.WatchNamespaces, Clock: i.Clock, Random: rand.Float64, Registerer: i.registerer,
		Log: i.Log.WithName("sweep"), Events: i.GetEventRecorder("ingester"), Ready: i.store.Prepared(),
		Regarding: checkpoint.ConfigMap(i.Options.LeaderElectionNamespace),
	})
	if err != nil {
		return err
	}
	return i.Add(i.sweeper)
}

func (i *ingester) addPurge(context.Context) error {
	return i.Add(&purge.Sweeper{
		DB: i.store.DB(), Kinds: i.kinds, Retention: i.o.Retention, Namespaces: i.Options.WatchNamespaces,
		Ready: i.store.Prepared(), Clock: i.Clock, Log: i.Log.WithName("purge"),
	})
}

// addControllers adds one controller for each kind, and fails unless every kind has one.
func (i *ingester) addControllers(context.Context) error {
	i.Log.Info("Setting up ingester controllers")
	missing := map[string]bool{}
	for _, name := range api.Kinds() {
		missing[name] = true
	}
	for _, kind := range i.kinds.Kinds() {
		c := objectsync.New(objectsync.Config{
			Kind: kind, Store: incarnation.Observed(i.store, kind.Name, i.watch), Metrics: i.metrics,
			Workers: i.o.workers(kind.Name), RequeuePeriod: i.o.requeuePeriod(kind.Name),
			EvictImmutableKinds: i.o.EvictImmutableKinds,
			OnDelete:            func(namespace, name string) { i.sweeper.AddCandidate(kind.Name, namespace, name) },
			Namespaces:          i.Options.WatchNamespaces, Clock: i.Clock, Checkpoint: i.checkpoint,
		})
		if err := c.SetupWithManager(i.Runtime); err != nil {
			return fmt.Errorf("set up controller of %s: %w", kind.Name, err)
		}
		i.controllers = append(i.controllers, c)
		i.Log.Info("Ingester controller registered successfully", "kind", kind.Name)
		delete(missing, kind.Name)
	}
	if len(missing) > 0 {
		return fmt.Errorf("no controller was registered for %v", slices.Sorted(maps.Keys(missing)))
	}
	return nil
}

// addFailover adds the monitor of the database server to the controllers.
func (i *ingester) addFailover(context.Context) error {
	return i.Add(&failover.Monitor{
		DB: i.store.DB(), Clock: i.Clock, Log: i.Log.WithName("failover"), Metrics: i.metrics, Ready: i.store.Prepared(),
		Resync: func(since time.Time) {
			for _, c := range i.controllers {
				c.Resync(since)
			}
		},
	})
}

func (i *ingester) addWebhook(ctx context.Context) error {
	return webhook.Register(ctx, i.Runtime, i.o.Finalizer, webhook.Config{
		Clock: i.Clock, Namespace: i.Options.LeaderElectionNamespace, Watched: i.Options.WatchNamespaces,
		Registerer: i.registerer,
	})
}

func (i *ingester) addAPI(context.Context) error {
	if !i.o.API.Enabled() {
		return nil
	}
	authorizer, err := access.New(i.GetConfig(), access.Options{Audiences: i.o.API.TokenAudiences})
	if err != nil {
		return err
	}
	cluster, err := httpapi.NewCluster(i.GetConfig(), i.GetClient())
	if err != nil {
		return err
	}
	server, err := httpapi.New(httpapi.Config{
		Options: i.o.API, Authorizer: authorizer, Cluster: cluster, Store: i.store, Registerer: i.registerer, Log: i.Log.WithName("api"), Clock: i.Clock,
	})
	if err != nil {
		return err
	}
	if err := i.AddReadyzCheck("http-api", server.Check); err != nil {
		return err
	}
	return i.Add(server)
}
