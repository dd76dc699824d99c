package liveness

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// retryProbe is the delay after a failed probe.
const retryProbe = time.Second

// Probe reads the heartbeat stream for a heartbeat of the observer that is newer than the
// last delivered one. After an error the state is unknown and must not become stale.
type Probe func(ctx context.Context, observer string) (seen bool, err error)

// Watchdog reports each change of state and each epoch that becomes inactive, at the exact time and without polling.
type Watchdog struct {
	tracker   *Tracker
	probe     Probe
	clock     clock.Clock
	onChange  func(observer string, v State)
	published map[string]State
	inactive  map[string]int // epochs by observer

	mu           sync.Mutex
	probeFailing time.Time // since when a probe fails; zero if none does
}

// NewWatchdog returns a watchdog that calls onChange for each change of an observer's state, and when another epoch of it
// is inactive.
func NewWatchdog(t *Tracker, p Probe, c clock.Clock, onChange func(observer string, v State)) *Watchdog {
	return &Watchdog{tracker: t, probe: p, clock: c, onChange: onChange, published: map[string]State{}, inactive: map[string]int{}}
}

// Start runs until the context ends.
func (w *Watchdog) Start(ctx context.Context) error {
	for {
		next := w.Step(ctx, w.clock.Now())
		var fired <-chan time.Time
		var timer clock.Timer
		if !next.IsZero() {
			timer = w.clock.NewTimer(max(next.Sub(w.clock.Now()), time.Millisecond))
			fired = timer.C()
		}
		ended := false
		select {
		case <-ctx.Done():
			ended = true
		case <-w.tracker.Changed():
		case <-fired:
		}
		if timer != nil {
			timer.Stop()
		}
		if ended {
			return nil
		}
	}
}

// Step computes the state of all observers once and returns when to run again (zero for the next message).
func (w *Watchdog) Step(ctx context.Context, now time.Time) time.Time {
	var next time.Time
	probeFailing := false
	for _, name := range w.tracker.Observers() {
		state, until := w.tracker.State(name, now)
		if !until.IsZero() && !now.Before(until) {
			var err error
			state, until, err = w.check(ctx, name, now)
			probeFailing = probeFailing || err != nil
		}
		inactive := 0
		if state == Alive {
			var nextInactive time.Time
			inactive, nextInactive = w.tracker.InactiveEpochs(name, now)
			until = earlier(until, nextInactive)
		}
		next = earlier(next, until)
		if w.published[name] != state {
			logr.FromContextOrDiscard(ctx).Info("Observer state changed", "observer", name,
				"state", state.String(), "previous", w.published[name].String())
		}
		if w.published[name] != state || inactive > w.inactive[name] {
			w.onChange(name, state)
		}
		w.published[name], w.inactive[name] = state, inactive
	}
	w.recordProbe(probeFailing, now)
	return next
}

// earlier returns the earlier of two times; zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (w *Watchdog) recordProbe(probeFailing bool, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !probeFailing {
		w.probeFailing = time.Time{}
	} else if w.probeFailing.IsZero() {
		w.probeFailing = now
	}
}

// isProbeFailing reports whether a probe of the last step failed.
func (w *Watchdog) isProbeFailing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.probeFailing.IsZero()
}

// ProbeFailing reports whether probes of an overdue observer have failed for at least timeout: the
// NATS server may be partitioned from the ones that receive its heartbeats.
func (w *Watchdog) ProbeFailing(timeout time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.probeFailing.IsZero() && w.clock.Since(w.probeFailing) >= timeout
}

// check probes the stream for an observer that is past its deadline.
func (w *Watchdog) check(ctx context.Context, name string, now time.Time) (State, time.Time, error) {
	seen, err := w.probe(ctx, name)
	switch {
	case err != nil:
		log := logr.FromContextOrDiscard(ctx)
		if w.isProbeFailing() {
			log = log.V(1) // already logged, and repeated each second
		}
		log.Info("Failed to probe stream for overdue observer", "observer", name, "reason", err.Error())
		state, _ := w.tracker.State(name, now)
		return state, now.Add(retryProbe), err
	case seen:
		w.tracker.recordProbed(name, now)
	default:
		w.tracker.Confirm(name, now)
	}
	state, until := w.tracker.State(name, now)
	return state, until, nil
}
