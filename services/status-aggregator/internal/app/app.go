package app

import (
	"cmp"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/controller/object"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/ingest"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/lease"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Settle is how long an observer has, after its first heartbeat, to send its pending observations.
const Settle = 5 * time.Second

// Config holds the dependencies of the aggregator.
type Config struct {
	Manager ctrl.Manager
	Bus     ingest.Bus
	Kinds   registry.Set
	Cluster string
	// Namespaces are those whose objects are served; empty means all.
	Namespaces []string
	// LeaseNamespace is the namespace of the Lease flotilla-conditions.
	LeaseNamespace string
	// Instance identifies this process as the holder of the Lease.
	Instance   string
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	Settle     time.Duration
	// Inactivity is how long a shard of an operator may be inactive; zero means [liveness.DefaultInactivity].
	Inactivity time.Duration
	Workers    int
	// PerObject exports every condition of every object as metrics.
	PerObject bool
	// Election has the leader election timing of the manager.
	Election service.Election
}

// parts holds the components that the wiring connects.
type parts struct {
	cfg      Config
	metrics  *metrics.Metrics
	model    *model.Store
	liveness *liveness.Tracker
	watchdog *liveness.Watchdog
	history  *history.Store
	queue    *object.Queue
	ingest   *ingest.Ingest
	watcher  *observe.Watcher
	lease    *lease.Holder
	resync   *resyncer
	control  *object.Reconciler
}

// Add creates the aggregator and adds its parts to the manager.
func Add(cfg Config) error {
	p := &parts{cfg: cfg, model: model.NewStore(), queue: object.NewQueue(cfg.Clock)}
	var err error
	var metricOptions []metrics.Option
	if cfg.PerObject {
		metricOptions = append(metricOptions, metrics.PerObject)
	}
	if p.metrics, err = metrics.New(cfg.Registerer, metricOptions...); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	p.liveness = liveness.NewTracker(cfg.Settle, cmp.Or(cfg.Inactivity, liveness.DefaultInactivity), observers(cfg.Kinds)...)
	p.history = history.New(cfg.Bus, cfg.Cluster, cfg.Clock, p.metrics)
	p.resync = newResyncer(p)
	p.queue.OnStart = p.resync.all
	p.addIngest()
	p.addWatcher()
	if err := p.addLease(); err != nil {
		return err
	}
	p.addWatchdog()
	p.control = p.controller()
	if err := p.control.SetupWithManager(cfg.Manager); err != nil {
		return fmt.Errorf("add controller: %w", err)
	}
	log := cfg.Manager.GetLogger()
	for _, r := range []runnable{
		{p.watcher, log.WithName("watch"), false}, // on every replica, so that a new leader starts with a warm cache
		{p.resync, log.WithName("resync"), true},
		{p.ingest, log.WithName("ingest"), true},
		{p.lease, log.WithName("lease"), true},
		{p.watchdog, log.WithName("liveness"), true},
	} {
		if err := cfg.Manager.Add(r); err != nil {
			return fmt.Errorf("add %T: %w", r.part, err)
		}
	}
	return nil
}

func (p *parts) addIngest() {
	p.ingest = ingest.New(ingest.Config{
		Bus: p.cfg.Bus, Cluster: p.cfg.Cluster, Namespaces: p.cfg.Namespaces, Kinds: p.cfg.Kinds,
		Model: p.model, Liveness: p.liveness, Clock: p.cfg.Clock, Metrics: p.metrics,
		OnObject:   p.queue.AddObserved,
		OnRestart:  p.history.Invalidate,
		OnCaughtUp: p.resync.all,
	})
}

func (p *parts) addWatcher() {
	p.watcher = observe.New(observe.Config{
		Cache: p.cfg.Manager.GetCache(), APIReader: p.cfg.Manager.GetAPIReader(),
		Kinds: p.cfg.Kinds, Cluster: p.cfg.Cluster, Clock: p.cfg.Clock,
		Publishing: publishing(p.cfg.Manager.Elected(), p.permitted, p.cfg.Bus.Connected),
		OnObject:   p.queue.Add,
		OnKind:     func(registry.Kind) { p.resync.all() },
	})
}

func (p *parts) addLease() error {
	// A separate client: the manager's would cache every Lease of the cluster.
	direct, err := client.New(p.cfg.Manager.GetConfig(), client.Options{
		HTTPClient: p.cfg.Manager.GetHTTPClient(), Scheme: p.cfg.Manager.GetScheme(), Mapper: p.cfg.Manager.GetRESTMapper(),
	})
	if err != nil {
		return fmt.Errorf("create client for the lease: %w", err)
	}
	p.lease = lease.New(lease.Config{
		Client: direct, Namespace: p.cfg.LeaseNamespace, Name: conditions.LeaseName, Identity: p.cfg.Instance,
		Healthy: p.healthy,
		OnChange: func(held bool) {
			p.metrics.LeaseHeld.Set(map[bool]float64{true: 1}[held])
			if held {
				p.ingest.MarkUnconfirmed() // the operators may have written while the Lease was not held
				p.control.ResetGrace()
				p.resync.all()
			}
		},
		Clock:   p.cfg.Clock,
		Pause:   2 * p.cfg.Election.LeaseDuration / 3,
		HoldOff: 3 * p.cfg.Election.RenewDeadline / 2,
	})
	return nil
}

func (p *parts) controller() *object.Reconciler {
	return object.New(object.Config{
		Kinds: p.cfg.Kinds, Model: p.model, Liveness: p.liveness, Reader: p.watcher, History: p.history,
		Writer: ownedstatus.New(p.cfg.Manager.GetClient(), conditions.FieldManager), Queue: p.queue,
		Permitted:      p.permitted,
		PurgeTombstone: p.ingest.PurgeTombstone,
		Clock:          p.cfg.Clock, Metrics: p.metrics, Workers: p.cfg.Workers,
	})
}

// addWatchdog enqueues the objects whenever the state of an observer changes, or one of its shards is inactive.
func (p *parts) addWatchdog() {
	all := []string{liveness.Disconnected.String(), liveness.Unconfirmed.String(), liveness.Alive.String(), liveness.Stale.String()}
	p.watchdog = liveness.NewWatchdog(p.liveness, p.ingest.HasMissed, p.cfg.Clock, func(observer string, s liveness.State) {
		p.metrics.ObserverState(observer, s.String(), all...)
		p.resync.all()
	})
}

// permitted reports whether this process may publish.
func (p *parts) permitted() bool { return p.ingest.CaughtUp() && p.lease.Held() }

// publishing returns whether a leader can publish deletions: this process once it is elected, until then another one, which
// is connected to the same bus.
func publishing(elected <-chan struct{}, permitted, connected func() bool) func() bool {
	return func() bool {
		select {
		case <-elected:
			return permitted()
		default:
			return connected()
		}
	}
}

// healthy reports whether this process can write conditions.
func (p *parts) healthy() bool {
	return p.ingest.CaughtUp() && p.history.Healthy(busTimeout) && !p.watchdog.ProbeFailing(busTimeout)
}

func observers(kinds registry.Set) []string {
	seen := map[string]bool{}
	var out []string
	for _, k := range kinds.Kinds() {
		if !seen[k.Observer] {
			seen[k.Observer] = true
			out = append(out, k.Observer)
		}
	}
	return out
}
