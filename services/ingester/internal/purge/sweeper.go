package purge

import (
	"context"
	"database/sql"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Sweeper deletes rows that were closed long ago. It is a manager.Runnable.
type Sweeper struct {
	DB    *sql.DB
	Kinds *registry.Registry
	// Retention is the time after which closed rows are deleted. Zero disables the purge.
	Retention time.Duration
	// Namespaces to work in; none means all. The database may hold the rows of other installations.
	Namespaces []string
	// Ready is closed once the schema is current.
	Ready <-chan struct{}
	Clock clock.WithTicker
	Log   logr.Logger
}

// MinRetention is the shortest time that closed rows are kept.
const MinRetention = time.Hour

// sweepInterval is the interval between two sweeps.
const sweepInterval = time.Hour

// NeedLeaderElection implements manager.LeaderElectionRunnable: one replica sweeps.
func (*Sweeper) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. A failed sweep is logged and retried after the interval.
func (s *Sweeper) Start(ctx context.Context) error {
	if s.Retention <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.Ready:
	}
	for {
		s.sweep(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-s.Clock.After(sweepInterval):
		}
	}
}

func (s *Sweeper) sweep(ctx context.Context) {
	before := s.Clock.Now().Add(-max(s.Retention, MinRetention))
	for _, kind := range s.Kinds.Kinds() {
		counts, err := Delete(ctx, s.DB, Request{Kind: kind, Before: before, Namespaces: s.Namespaces})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.Log.Error(err, "Failed to purge closed rows", "kind", kind.Name, "rows", counts.Rows)
		case counts.Rows > 0:
			s.Log.Info("Purged closed rows", "kind", kind.Name, "rows", counts.Rows, "waiting", counts.Waiting)
		}
	}
}
