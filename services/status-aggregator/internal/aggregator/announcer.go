package aggregator

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

const (
	// patience is how long the bucket may refuse before the operators shall write for themselves.
	patience = 10 * time.Second
	// lookEvery is the pause between two questions to a bucket that refuses.
	lookEvery = 2 * time.Second
	// compareEvery is the pause between two comparisons of what is known with what lives,
	// beside those at the start and after each gap in hearing or watching.
	compareEvery = time.Hour
)

// announcer puts every object into the inbox when something changed that concerns
// all of them. Those that only the bucket or the bus knows are among them: that is how
// the end of an object is noticed that went while nobody watched.
type announcer struct {
	parts *parts
	wake  chan struct{}
}

func newAnnouncer(p *parts) *announcer {
	return &announcer{parts: p, wake: make(chan struct{}, 1)}
}

// all announces every object, soon.
func (a *announcer) all() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Start announces until the context ends.
func (a *announcer) Start(ctx context.Context) error {
	ticker := a.parts.cfg.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	compare := a.parts.cfg.Clock.NewTicker(compareEvery)
	defer compare.Stop()
	again := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.wake:
			again = !a.announce(ctx)
		case <-compare.C():
			again = !a.announce(ctx)
		case <-ticker.C():
			a.look(ctx)
			if again {
				again = !a.announce(ctx)
			}
		}
	}
}

// look asks a bucket that refuses whether it still does: nobody else would while the Lease is not held.
func (a *announcer) look(ctx context.Context) {
	if !a.parts.history.Doubtful() || !a.parts.ingest.CaughtUp() {
		return
	}
	if err := a.parts.history.Probe(ctx); err != nil {
		logr.FromContextOrDiscard(ctx).Info("Asked the status bucket in vain", "reason", err.Error())
	}
}

// announce says whether all objects could be listed.
func (a *announcer) announce(ctx context.Context) bool {
	refs, err := a.parts.watcher.List(ctx)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("Listed objects in vain", "reason", err.Error())
		return false
	}
	for _, ref := range refs {
		a.parts.inbox.Add(ref)
	}
	if !a.parts.ingest.CaughtUp() {
		return true // it will be announced anew
	}
	for _, ref := range a.parts.model.Refs() {
		a.parts.inbox.Add(ref)
	}
	known, err := a.parts.history.Keys(ctx)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("Listed status entries in vain", "reason", err.Error())
		return false
	}
	for _, ref := range known {
		a.parts.inbox.Add(ref)
	}
	return true
}
