package aggregator

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/controller/status"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/ingest"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/lease"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/silence"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/watch"
)

const (
	// Settle is how long an observer has, after its first sign of life, to send what it held back.
	Settle = 5 * time.Second
	// workers reconcile side by side; most of a reconcile is waiting for answers.
	workers = 8
)

// Config is what the aggregator needs from outside.
type Config struct {
	Manager ctrl.Manager
	Bus     ingest.Bus
	Kinds   registry.Set
	Cluster string
	// LeaseNamespace is where the Lease flotilla-conditions lies.
	LeaseNamespace string
	// Instance is this process, the Lease's holder.
	Instance   string
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	Settle     time.Duration
	Workers    int
	// PerObject shows every condition of every object as metrics.
	PerObject bool
	// Election has the terms by which the manager is elected.
	Election service.Election
}

// parts are the pieces that the wiring connects.
type parts struct {
	cfg      Config
	metrics  *metrics.Metrics
	model    *model.Store
	silence  *silence.Tracker
	watchdog *silence.Watchdog
	history  *history.Store
	inbox    *status.Inbox
	ingest   *ingest.Ingest
	watcher  *watch.Watcher
	lease    *lease.Keeper
	announce *announcer
	control  *status.Controller
}

// Add makes the aggregator and adds its parts to the manager.
func Add(cfg Config) error {
	p := &parts{cfg: cfg, model: model.NewStore(), inbox: &status.Inbox{}}
	var err error
	var shown []metrics.Option
	if cfg.PerObject {
		shown = append(shown, metrics.PerObject)
	}
	if p.metrics, err = metrics.New(cfg.Registerer, shown...); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	p.silence = silence.NewTracker(cfg.Settle, observers(cfg.Kinds)...)
	p.history = history.New(cfg.Bus, cfg.Cluster, cfg.Clock, p.metrics)
	p.announce = newAnnouncer(p)
	p.inbox.OnStart = p.announce.all
	p.addIngest()
	p.addWatcher()
	if err := p.addLease(); err != nil {
		return err
	}
	p.addWatchdog()
	p.control = p.controller()
	if err := p.control.Register(cfg.Manager); err != nil {
		return fmt.Errorf("add controller: %w", err)
	}
	log := cfg.Manager.GetLogger()
	for _, r := range []runnable{
		{p.watcher, log.WithName("watch"), false}, // every replica, so that a new leader starts with a warm cache
		{p.announce, log.WithName("announce"), true},
		{p.ingest, log.WithName("ingest"), true},
		{p.lease, log.WithName("lease"), true},
		{p.watchdog, log.WithName("silence"), true},
	} {
		if err := cfg.Manager.Add(r); err != nil {
			return fmt.Errorf("add %T: %w", r.part, err)
		}
	}
	return nil
}

func (p *parts) addIngest() {
	p.ingest = ingest.New(ingest.Config{
		Bus: p.cfg.Bus, Cluster: p.cfg.Cluster, Kinds: p.cfg.Kinds,
		Model: p.model, Silence: p.silence, Clock: p.cfg.Clock, Metrics: p.metrics,
		OnObject:   p.inbox.Add,
		OnRestart:  p.history.Invalidate,
		OnCaughtUp: p.announce.all,
	})
}

func (p *parts) addWatcher() {
	p.watcher = watch.New(watch.Config{
		Cache: p.cfg.Manager.GetCache(), Live: p.cfg.Manager.GetAPIReader(),
		Kinds: p.cfg.Kinds, Cluster: p.cfg.Cluster, Clock: p.cfg.Clock,
		OnObject: p.inbox.Add,
		OnKind:   func(registry.Kind) { p.announce.all() },
	})
}

func (p *parts) addLease() error {
	// A client of its own: the manager's would cache every Lease of the cluster.
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
				p.ingest.Doubt() // the operators may have written while nobody held it
				p.control.StartOver()
				p.announce.all()
			}
		},
		Clock: p.cfg.Clock,
		Pause: 2 * p.cfg.Election.LeaseDuration / 3,
		Doubt: 3 * p.cfg.Election.RenewDeadline / 2,
	})
	return nil
}

func (p *parts) controller() *status.Controller {
	return status.New(status.Config{
		Kinds: p.cfg.Kinds, Model: p.model, Silence: p.silence, Watcher: p.watcher, History: p.history,
		Writer: ownedstatus.New(p.cfg.Manager.GetClient(), conditions.FieldManager), Inbox: p.inbox,
		Permitted: func() bool { return p.ingest.CaughtUp() && p.lease.Held() },
		Sweep:     p.ingest.Sweep,
		Clock:     p.cfg.Clock, Metrics: p.metrics, Workers: p.cfg.Workers,
	})
}

// addWatchdog reconciles an observer's objects whenever the verdict on it changes.
func (p *parts) addWatchdog() {
	all := []string{silence.Deaf.String(), silence.Unsure.String(), silence.Speaking.String(), silence.Silent.String()}
	p.watchdog = silence.NewWatchdog(p.silence, p.ingest.Missed, p.cfg.Clock, func(observer string, v silence.Verdict) {
		p.metrics.Verdict(observer, v.String(), all...)
		p.announce.all()
	})
}

// healthy says whether this process can do what the Lease promises.
func (p *parts) healthy() bool {
	return p.ingest.CaughtUp() && p.history.Works(patience) && !p.watchdog.Blind(patience)
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
