package silence

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// retryProbe is the pause before a look into the stream that did not succeed is repeated.
const retryProbe = time.Second

// Probe looks directly into the stream of heartbeats for a sign of life of the
// observer that is newer than what the subscription delivered. An error means
// that the bus could not be asked, so nothing follows from the silence.
type Probe func(ctx context.Context, observer string) (heard bool, err error)

// Watchdog tells when a verdict changes, at the exact time and without polling.
type Watchdog struct {
	tracker  *Tracker
	probe    Probe
	clock    clock.Clock
	onChange func(observer string, v Verdict)
	told     map[string]Verdict

	mu    sync.Mutex
	blind time.Time // since when the stream cannot be asked about somebody; zero: it can
}

// NewWatchdog calls onChange for each change of an observer's verdict.
func NewWatchdog(t *Tracker, p Probe, c clock.Clock, onChange func(observer string, v Verdict)) *Watchdog {
	return &Watchdog{tracker: t, probe: p, clock: c, onChange: onChange, told: map[string]Verdict{}}
}

// Start watches until the context ends.
func (w *Watchdog) Start(ctx context.Context) error {
	for {
		next := w.Step(ctx, w.clock.Now())
		var wake <-chan time.Time
		var timer clock.Timer
		if !next.IsZero() {
			timer = w.clock.NewTimer(max(next.Sub(w.clock.Now()), time.Millisecond))
			wake = timer.C()
		}
		ended := false
		select {
		case <-ctx.Done():
			ended = true
		case <-w.tracker.Changed():
		case <-wake:
		}
		if timer != nil {
			timer.Stop()
		}
		if ended {
			return nil
		}
	}
}

// Step judges all observers once and returns when to do so again (zero: when something is heard).
func (w *Watchdog) Step(ctx context.Context, now time.Time) time.Time {
	var next time.Time
	blind := false
	for _, name := range w.tracker.Observers() {
		verdict, until := w.tracker.Judge(name, now)
		if !until.IsZero() && !now.Before(until) {
			var err error
			verdict, until, err = w.look(ctx, name, now)
			blind = blind || err != nil
		}
		if !until.IsZero() && (next.IsZero() || until.Before(next)) {
			next = until
		}
		if w.told[name] != verdict {
			logr.FromContextOrDiscard(ctx).Info("Judged observer anew", "observer", name,
				"verdict", verdict.String(), "before", w.told[name].String())
			w.told[name] = verdict
			w.onChange(name, verdict)
		}
	}
	w.noteBlind(blind, now)
	return next
}

func (w *Watchdog) noteBlind(blind bool, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !blind {
		w.blind = time.Time{}
	} else if w.blind.IsZero() {
		w.blind = now
	}
}

// unanswered says whether the last step asked in vain.
func (w *Watchdog) unanswered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.blind.IsZero()
}

// Blind says that for longer than patience somebody has been silent of whom the stream
// could not be asked: our server may be cut off from the others, which hear him.
func (w *Watchdog) Blind(patience time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.blind.IsZero() && w.clock.Since(w.blind) >= patience
}

// look asks the stream about an observer whose time is over.
func (w *Watchdog) look(ctx context.Context, name string, now time.Time) (Verdict, time.Time, error) {
	heard, err := w.probe(ctx, name)
	switch {
	case err != nil:
		log := logr.FromContextOrDiscard(ctx)
		if w.unanswered() {
			log = log.V(1) // it has been said, and is tried each second
		}
		log.Info("Asked the bus about a silent observer in vain", "observer", name, "reason", err.Error())
		verdict, _ := w.tracker.Judge(name, now)
		return verdict, now.Add(retryProbe), err
	case heard:
		w.tracker.Hear(name, 0, 0, now)
	default:
		w.tracker.Confirm(name, now)
	}
	verdict, until := w.tracker.Judge(name, now)
	return verdict, until, nil
}
