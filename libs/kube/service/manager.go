package service

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// shutdownTimeout leaves a third of a pod's usual 30 s for the bus and the traces.
const shutdownTimeout = 20 * time.Second

func newScheme(spec Spec) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme}, spec.AddToScheme...) {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	return scheme, nil
}

func newManager(spec Spec, o Options, cfg *rest.Config, log logr.Logger) (ctrl.Manager, error) {
	scheme, err := newScheme(spec)
	if err != nil {
		return nil, err
	}
	timeout := shutdownTimeout
	options := ctrl.Options{
		Scheme:                  scheme,
		Logger:                  log,
		Cache:                   cacheOptions(spec, o),
		Metrics:                 metricsOptions(o),
		HealthProbeBindAddress:  Disabled, // served by health, which starts earlier
		PprofBindAddress:        pprofAddress(o),
		LeaderElection:          o.LeaderElect,
		LeaderElectionID:        spec.Name + ".flotilla.dev",
		LeaderElectionNamespace: o.LeaderElectionNamespace,
		// Safe: when Start returns after a signal, every controller has ended.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &timeout,
	}
	o.Election.apply(&options)
	options.Controller.MaxConcurrentReconciles = o.Workers
	if spec.ManagerOptions != nil {
		spec.ManagerOptions(&options)
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	return mgr, nil
}

func cacheOptions(spec Spec, o Options) cache.Options {
	var options cache.Options
	if len(o.WatchNamespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, ns := range o.WatchNamespaces {
			options.DefaultNamespaces[ns] = cache.Config{}
		}
	}
	if spec.CacheOptions != nil {
		spec.CacheOptions(&options)
	}
	return options
}

func metricsOptions(o Options) metricsserver.Options {
	options := metricsserver.Options{BindAddress: o.MetricsAddr, SecureServing: o.MetricsSecure}
	if o.MetricsSecure {
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

// pprofAddress returns the address in the form of the manager, where empty means disabled.
func pprofAddress(o Options) string {
	if o.PprofAddr == Disabled {
		return ""
	}
	return o.PprofAddr
}

// instrumented is the manager that Setup gets. It counts the added runnables, since a service
// without any is misconfigured, adds health checks to the service's own endpoints, and bounds the notes of events.
type instrumented struct {
	ctrl.Manager
	health *health
	added  atomic.Int32
}

func (m *instrumented) Add(r manager.Runnable) error {
	m.added.Add(1)
	return m.Manager.Add(r)
}

func (m *instrumented) AddHealthzCheck(name string, check healthz.Checker) error {
	m.health.add(m.health.live, name, check)
	return nil
}

func (m *instrumented) AddReadyzCheck(name string, check healthz.Checker) error {
	m.health.add(m.health.ready, name, check)
	return nil
}

// boundedRecorder truncates the notes of events. The API server rejects an event with a longer one, and the event would be lost.
type boundedRecorder struct{ recorder.EventRecorder }

// GetEventRecorder returns a recorder for all controllers of the service.
func (m *instrumented) GetEventRecorder(name string) recorder.EventRecorder {
	return boundedRecorder{m.Manager.GetEventRecorder(name)}
}

// Eventf implements [recorder.EventRecorder].
func (r boundedRecorder) Eventf( //nolint:revive // the parameters of the interface
	regarding, related runtime.Object, kind, reason, action, note string, args ...any,
) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", contract.Text(fmt.Sprintf(note, args...)))
}

// AnnotatedEventf implements [recorder.EventRecorder].
func (r boundedRecorder) AnnotatedEventf( //nolint:revive // the parameters of the interface
	regarding, related runtime.Object, annotations map[string]string, kind, reason, action, note string, args ...any,
) {
	text := contract.Text(fmt.Sprintf(note, args...))
	r.EventRecorder.AnnotatedEventf(regarding, related, annotations, kind, reason, action, "%s", text)
}
