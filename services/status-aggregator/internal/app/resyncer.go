package app

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

const (
	// busTimeout is how long the bucket may reject writes before the Lease is left to the operators.
	busTimeout = 10 * time.Second
	// probeInterval is the interval of the probes of a bucket that rejects writes.
	probeInterval = 2 * time.Second
	// resyncInterval is the interval of the resyncs, in addition to those at the start and after
	// each gap in the subscription or the watch.
	resyncInterval = time.Hour
)

// resyncer enqueues every object after an event that affects all of them. This includes
// objects that exist only in the bucket or on the bus, so a deletion that no watch observed is
// detected.
type resyncer struct {
	parts   *parts
	trigger chan struct{}
}

func newResyncer(p *parts) *resyncer {
	return &resyncer{parts: p, trigger: make(chan struct{}, 1)}
}

// all enqueues every object, asynchronously.
func (a *resyncer) all() {
	select {
	case a.trigger <- struct{}{}:
	default:
	}
}

// Start runs until the context ends.
func (a *resyncer) Start(ctx context.Context) error {
	ticker := a.parts.cfg.Clock.NewTicker(probeInterval)
	defer ticker.Stop()
	compare := a.parts.cfg.Clock.NewTicker(resyncInterval)
	defer compare.Stop()
	retry := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.trigger:
			retry = !a.resync(ctx)
		case <-compare.C():
			retry = !a.resync(ctx)
		case <-ticker.C():
			a.probe(ctx)
			if retry {
				retry = !a.resync(ctx)
			}
		}
	}
}

// probe probes a bucket that rejects writes: no reconcile writes to it while the Lease is not held.
func (a *resyncer) probe(ctx context.Context) {
	if !a.parts.history.NeedsProbe() || !a.parts.ingest.CaughtUp() {
		return
	}
	if err := a.parts.history.Probe(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).Info("Failed to probe status bucket", "reason", err.Error())
	}
}

// resync enqueues all objects and reports whether they could be listed.
func (a *resyncer) resync(ctx context.Context) bool {
	refs, err := a.parts.watcher.List(ctx)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("Failed to list objects", "reason", err.Error())
		return false
	}
	for _, ref := range refs {
		a.parts.queue.Add(ref)
	}
	if !a.parts.ingest.CaughtUp() {
		return true // OnCaughtUp enqueues all objects again
	}
	for _, ref := range a.parts.model.Refs() {
		a.parts.queue.Add(ref)
	}
	known, err := a.parts.history.Keys(ctx)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("Failed to list status entries", "reason", err.Error())
		return false
	}
	for _, ref := range known {
		if a.parts.ingest.Serves(ref.Namespace) { // the cache cannot read others
			a.parts.queue.Add(ref)
		}
	}
	return true
}
