package commandtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/reconciletest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/app"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/sweep"
)

// Start runs an ingester in the namespace of the environment until stop is called, or the test ends. Like a kubelet, it
// starts the ingester again after a restore of the cluster.
func (b *Env) Start() (stop func()) {
	b.Helper()
	port, err := freeport.One()
	if err != nil {
		b.Fatal(err)
	}
	b.Health = freeport.Address(port)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	run, err := b.setUp(ctx)
	if err != nil {
		cancel()
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		err := run()
		for errors.Is(err, incarnation.ErrClusterRestored) {
			if run, err = b.setUp(ctx); err == nil {
				err = run()
			}
		}
		if err != nil {
			b.Errorf("the ingester ended: %v", err)
		}
	})
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			wg.Wait()
		})
	}
	b.Cleanup(stop)
	return stop
}

// setUp returns a function that runs an ingester until ctx ends.
func (b *Env) setUp(ctx context.Context) (run func() error, err error) {
	log := b.Env.Log
	if t, ok := b.TB.(*testing.T); ok && testing.Verbose() {
		log = testr.New(t)
	}
	managerLog, checkResults := reconciletest.Watch(b.TB, log)
	skip := true
	mgr, err := ctrl.NewManager(b.Plane.Config, ctrl.Options{
		Scheme: b.Client.Scheme(), Logger: managerLog,
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{b.Namespace: {}}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},

		HealthProbeBindAddress: b.Health,
	})
	if err != nil {
		return nil, err
	}
	rt := &service.Runtime{
		Manager: mgr, Log: log, Clock: clock.RealClock{}, Instance: "test", Bus: b.Bus,
		Options: service.Options{ClusterName: "test", WatchNamespaces: []string{b.Namespace}, LeaderElectionNamespace: b.Namespace},
	}
	o := &app.Options{Enabled: true, MySQL: database.Settings{DSN: b.DSN}, ConcurrentReconciles: 16, RequeuePeriod: time.Second, Sweep: sweep.Options{Interval: b.SweepInterval}}
	if err := app.Setup(ctx, rt, o, prometheus.NewRegistry()); err != nil {
		return nil, err
	}
	return func() error {
		defer checkResults()
		return errors.Join(mgr.Start(ctx), rt.Close(context.WithoutCancel(ctx)))
	}, nil
}
