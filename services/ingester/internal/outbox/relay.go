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

// Config holds the settings of a Relay.
type Config struct {
	DB *sql.DB
	// JetStream publishes the events; Connected reports whether the bus is connected.
	JetStream jetstream.JetStream
	Connected func() bool
	// Denied reports whether the bus denies a subject.
	Denied func(subject string) bool
	// Cluster names the cluster in subjects.
	Cluster string
	Metrics *metrics.Metrics
	Log     logr.Logger
	Clock   clock.Clock
	// Ready is closed once the table exists.
	Ready <-chan struct{}
	// MaxRows bounds the table; zero means ten million, about 3 GB.
	MaxRows int64
	// Remembered bounds the uids in memory while the table is compacted; zero means 200,000.
	Remembered int
}

const (
	defaultMaxRows = 10_000_000
	// Two maps of so many uids take about 40 MB.
	defaultRemembered = 200_000
	window            = 500                   // rows read at once
	pollInterval      = 5 * time.Second       // if no signal arrives
	measureInterval   = 15 * time.Second      // depth and lag
	ackTimeout        = 5 * time.Second       // for one batch of messages
	denialInterval    = 50 * time.Millisecond // between two checks whether the bus denied a message
	minBackoff        = 200 * time.Millisecond
	maxBackoff        = 10 * time.Second
)

// Relay publishes rows of the table to the stream. Only the leader runs it.
type Relay struct {
	cfg         Config
	added       chan struct{} // rows were added
	reconnected chan struct{} // the bus is connected again
	// lastError is the last failure, so that it is logged once.
	lastError string
	positions map[string]*position // by kind
	// measureTimer fires when the next measurement is due.
	measureTimer clock.Timer
	// oldest is the id of the oldest row of the last measurement, and oldestSince when it was first measured.
	oldest      int64
	oldestSince time.Time
	// held are the kinds whose events the bus denies, and the times of their next attempts.
	held map[string]time.Time
}

// New returns a relay. [Relay.Start] runs it.
func New(cfg Config) *Relay {
	if cfg.MaxRows == 0 {
		cfg.MaxRows = defaultMaxRows
	}
	cfg.Remembered = cmp.Or(cfg.Remembered, defaultRemembered)
	return &Relay{
		cfg: cfg, added: make(chan struct{}, 1), reconnected: make(chan struct{}, 1),
		positions: map[string]*position{}, held: map[string]time.Time{},
	}
}

// Notify signals new rows. It never blocks.
func (r *Relay) Notify() { signal(r.added) }

// Reconnected signals that the bus is connected again. It never blocks.
func (r *Relay) Reconnected() { signal(r.reconnected) }

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
	r.measureTimer = r.cfg.Clock.NewTimer(0)
	defer r.measureTimer.Stop()
	backoff := minBackoff
	for {
		wait := pollInterval
		err := r.drain(ctx)
		if err == nil {
			backoff = minBackoff
		} else {
			wait, backoff = backoff, min(backoff*2, maxBackoff)
		}
		r.report(ctx, err)
		select {
		case <-ctx.Done():
			return nil
		case <-r.measureTimer.C():
			r.measure(ctx)
			r.measureTimer.Reset(measureInterval)
		case <-r.addedUnless(err):
		case <-r.reconnected:
			r.retryHeldNow()
		case <-r.cfg.Clock.After(wait):
		}
	}
}

// addedUnless ignores new rows during the backoff after an error.
func (r *Relay) addedUnless(err error) <-chan struct{} {
	if err != nil {
		return nil
	}
	return r.added
}

// report logs a failure once, and the first success after it.
func (r *Relay) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && r.lastError != err.Error():
		r.lastError = err.Error()
		r.cfg.Log.Info("Failed to publish change events, retrying", "reason", r.lastError)
	case err == nil && r.lastError != "":
		r.lastError = ""
		r.cfg.Log.Info("Publishing change events again")
	}
}

// drain publishes until the table has only rows of held kinds.
func (r *Relay) drain(ctx context.Context) error {
	for ctx.Err() == nil {
		if !r.cfg.Connected() {
			return errNotConnected
		}
		if err := r.retryHeld(ctx); err != nil {
			return err
		}
		checkedAt := r.cfg.Clock.Now()
		rows, err := r.read(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}
		if kinds := r.unknown(rows); len(kinds) > 0 {
			for _, kind := range kinds {
				if err := r.deduplicate(ctx, kind); err != nil {
					return err
				}
			}
			continue
		}
		if err := r.publish(ctx, rows, checkedAt); err != nil {
			return err
		}
		r.published(rows)
	}
	return nil
}
