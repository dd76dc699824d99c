package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
)

// Config of a relay.
type Config struct {
	DB *sql.DB
	// JetStream publishes; Connected reports whether the bus is connected, and so whether to try.
	JetStream jetstream.JetStream
	Connected func() bool
	// Cluster names the cluster in subjects.
	Cluster string
	Metrics *metrics.Metrics
	Log     logr.Logger
	Clock   clock.Clock
	// Ready is closed once the table exists.
	Ready <-chan struct{}
	// MaxRows bounds the table; zero means ten million, which take some 3 GB.
	MaxRows int64
	// Remembered is how many objects are remembered while the table is compacted; zero means 200,000.
	Remembered int
}

const (
	defaultMaxRows = 10_000_000
	// two maps of so many uids take some 40 MB
	defaultRemembered = 200_000
	window            = 500              // rows read at once
	pollEvery         = 5 * time.Second  // if no signal arrives
	measureEvery      = 15 * time.Second // depth and lag
	ackTimeout        = 5 * time.Second  // for one round of messages
	firstPause        = 200 * time.Millisecond
	longestPause      = 10 * time.Second
)

// Relay moves rows from the table to the stream. One process at a time runs it: the leader.
type Relay struct {
	cfg  Config
	wake chan struct{} // rows were added
	back chan struct{} // the bus is back
	// stuck holds the last reason why nothing moves, so that it is logged once.
	stuck string
	// doubt is the number of next rows that may be in the stream already.
	doubt int
}

// New returns a relay. [Relay.Start] runs it.
func New(cfg Config) *Relay {
	if cfg.MaxRows == 0 {
		cfg.MaxRows = defaultMaxRows
	}
	cfg.Remembered = cmp.Or(cfg.Remembered, defaultRemembered)
	return &Relay{cfg: cfg, wake: make(chan struct{}, 1), back: make(chan struct{}, 1), doubt: doubtful}
}

// Wake signals that there are new rows. It never blocks.
func (r *Relay) Wake() { signal(r.wake) }

// Reconnected signals that the bus is connected again. It never blocks.
func (r *Relay) Reconnected() { signal(r.back) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r *Relay) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. It returns when ctx ends.
func (r *Relay) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-r.cfg.Ready:
	}
	measure := r.cfg.Clock.NewTimer(0)
	defer measure.Stop()
	pause := firstPause
	for {
		wait := pollEvery
		err := r.drain(ctx)
		if err == nil {
			pause = firstPause
		} else {
			wait, pause = pause, min(pause*2, longestPause)
		}
		r.report(ctx, err)
		select {
		case <-ctx.Done():
			return nil
		case <-measure.C():
			r.measure(ctx)
			measure.Reset(measureEvery)
		case <-r.wakeUnless(err):
		case <-r.back:
		case <-r.cfg.Clock.After(wait):
		}
	}
}

// wakeUnless ignores new rows while nothing moves: the pause is there for a reason.
func (r *Relay) wakeUnless(err error) <-chan struct{} {
	if err != nil {
		return nil
	}
	return r.wake
}

// report logs when the relay gets stuck and when it moves again, not each try.
func (r *Relay) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && r.stuck != err.Error():
		r.stuck = err.Error()
		r.cfg.Log.Info("Change events wait", "reason", r.stuck)
	case err == nil && r.stuck != "":
		r.stuck = ""
		r.cfg.Log.Info("Change events flow again")
	}
}

// drain publishes until the table is empty.
func (r *Relay) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		if !r.cfg.Connected() {
			return errNotConnected
		}
		began := r.cfg.Clock.Now()
		rows, err := r.read(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}
		if rows, err = r.settle(ctx, rows); err != nil {
			return err
		}
		if err := r.publish(ctx, rows, began); err != nil {
			return err
		}
	}
	return nil
}
