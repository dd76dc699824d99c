package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/kube/namespaces"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

// leaderRestartDelay is how much later than its standbys a leader restarts when other namespaces match. By then the webhooks
// and the HTTP APIs of the standbys listen again, and one of them becomes the leader.
const leaderRestartDelay = 10 * time.Second

// closeTimeout limits the shutdown after the controllers have stopped.
const closeTimeout = 8 * time.Second

// process is one run of a service from valid options to the end.
type process struct {
	spec    Spec
	options Options
	log     logr.Logger
	clock   clock.WithTicker
	health  *health
	setUp   atomic.Bool // whether all readiness checks of the service are known
	leads   atomic.Bool // whether its controllers run
	closers []func(context.Context) error
}

func (p *process) atExit(f func(context.Context) error) { p.closers = append(p.closers, f) }

// close releases what run acquired, newest first.
func (p *process) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	for _, f := range slices.Backward(p.closers) {
		if err := f(ctx); err != nil {
			// The controllers have stopped; messages that can no longer be sent are lost either way.
			p.log.Error(err, "Failed to shut down completely")
		}
	}
}

func (p *process) run(ctx context.Context) error {
	cfg, err := p.options.RESTConfig()
	if err != nil {
		return err
	}
	api, err := newAPIServer(cfg, p.clock)
	if err != nil {
		return err
	}
	ready, err := newReadiness(api, p.clock, metrics.Registry)
	if err != nil {
		return err
	}
	p.health.add(p.health.ready, "api", ready.check)
	prerequisites, err := newPrerequisites(p.spec, p.options, cfg, p.clock)
	if err != nil {
		return err
	}
	p.health.add(p.health.ready, "prerequisites", prerequisites.readyz)
	p.health.add(p.health.ready, "setup", p.checkSetup)
	if err := p.health.listen(ctx, p.options.HealthAddr); err != nil {
		return err
	}
	p.atExit(p.health.close)
	p.log.Info("Started", "build", telemetry.BuildInfo().String())

	rt := &Runtime{Options: p.options, Log: p.log, Clock: p.clock, Instance: instance()}
	busRun, err := openBus(ctx, p.options, rt.Instance, p.log, p.clock)
	if err != nil {
		return err
	}
	if busRun != nil {
		p.atExit(busRun.close)
		rt.Bus, rt.Observations = busRun.conn, busRun.observations
	}
	p.atExit(rt.Close)
	if !api.wait(ctx, p.log) || !prerequisites.wait(ctx, p.log) {
		return nil // stopped by a signal
	}
	err = p.manageSelected(ctx, cfg, rt, busRun)
	if err != nil && ctx.Err() == nil && isTransient(err, api.ping(ctx), prerequisites.check(ctx)) {
		p.log.Info("Restarting", "reason", err.Error())
		return errRestart
	}
	return err
}

// manageSelected runs the controllers in the namespaces that match the selector, if there is one, and returns
// namespaces.ErrChanged when others match.
func (p *process) manageSelected(ctx context.Context, cfg *rest.Config, rt *Runtime, b *busRun) error {
	if p.options.WatchNamespaceSelector == "" {
		return p.manage(ctx, cfg, rt, b)
	}
	selected, names, err := namespaces.Selection{
		Config: cfg, Selector: p.options.WatchNamespaceSelector, Clock: p.clock, Log: p.log,
		OnWait: func() { p.setUp.Store(true) }, // without a namespace there is nothing to serve
		Delay:  p.restartDelay,
	}.Start(ctx)
	p.setUp.Store(false)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return nil // stopped by a signal
	}
	p.log.Info("Selected the namespaces to watch", "namespaces", names)
	p.options.WatchNamespaces, rt.Options.WatchNamespaces = names, names
	err = p.manage(selected, cfg, rt, b)
	if err == nil && ctx.Err() == nil {
		err = context.Cause(selected)
	}
	return err
}

// restartDelay returns how much later than a standby this process restarts.
func (p *process) restartDelay() time.Duration {
	if p.options.LeaderElect && p.leads.Load() {
		return leaderRestartDelay
	}
	return 0
}

// isTransient reports whether a restart can clear the cause of an exit, as opposed to a
// permanent error: the Lease was lost, other namespaces are to be watched, the API server is
// unavailable, or a CRD or a permission was removed.
func isTransient(err, ping error, m missing) bool {
	return ping != nil || m.err() != nil || errors.Is(err, errLeaseLost) || errors.Is(err, namespaces.ErrChanged)
}

// errLeaseLost replaces the manager's own error, which has no type.
var errLeaseLost = errors.New("leader election lost")

// manage sets the controllers up and runs them until ctx ends.
func (p *process) manage(ctx context.Context, cfg *rest.Config, rt *Runtime, b *busRun) error {
	mgr, err := newManager(p.spec, p.options, cfg, p.log)
	if err != nil {
		return err
	}
	counted := &instrumented{Manager: mgr, health: p.health}
	rt.Manager = counted
	if err := p.spec.Setup(ctx, rt); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if counted.added.Load() == 0 {
		return errors.New("set up: no controller was registered")
	}
	p.setUp.Store(true)
	// The manager starts it when this process becomes the leader.
	if err := mgr.Add(manager.RunnableFunc(func(context.Context) error { p.leads.Store(true); return nil })); err != nil {
		return fmt.Errorf("add the observer of the election: %w", err)
	}
	if b != nil {
		if err := mgr.Add(b.lead()); err != nil {
			return fmt.Errorf("add the heartbeat publisher: %w", err)
		}
	}
	// Runnables log to the logger of their context.
	if err := mgr.Start(logr.NewContext(ctx, p.log)); err != nil {
		if err.Error() == errLeaseLost.Error() {
			return errLeaseLost
		}
		return fmt.Errorf("run: %w", err)
	}
	p.log.Info("Stopped")
	return nil
}

// checkSetup is a readiness check. The others of the service, such as that of its webhooks, are added by its Setup.
func (p *process) checkSetup(*http.Request) error {
	if !p.setUp.Load() {
		return errors.New("the controllers are not set up yet")
	}
	return nil
}

// instance returns the name of this process for users: the pod's, else the host's.
func instance() string {
	if pod := os.Getenv("POD_NAME"); pod != "" {
		return pod
	}
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
}
