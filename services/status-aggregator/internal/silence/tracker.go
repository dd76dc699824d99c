package silence

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// DefaultValidity is how long an observer is believed that has not yet said for how long it wants to be:
// three heartbeats of ten seconds.
const DefaultValidity = 30 * time.Second

// keepEpochs bounds the epochs of one observer that are remembered.
const keepEpochs = 4

// Verdict is what can be said about an observer.
type Verdict int

// Verdicts.
const (
	Deaf     Verdict = iota // we do not hear the bus: nothing can be said about anybody
	Unsure                  // we listen, but what we know of the observer may be outdated
	Speaking                // heard within its validity
	Silent                  // we hear the bus, but not the observer
)

func (v Verdict) String() string {
	return [...]string{"Deaf", "Unsure", "Speaking", "Silent"}[v]
}

// Tracker remembers who was heard when. It is safe for concurrent use.
type Tracker struct {
	settle time.Duration

	mu        sync.Mutex
	listening bool
	since     time.Time // when we began to listen
	observers map[string]*observer
	changed   chan struct{}
}

type observer struct {
	first    time.Time // first sign of life since we began to listen; zero: none
	holding  time.Time // last time that it said, since then, that it holds something back; zero: never
	last     time.Time // last sign of life
	validity time.Duration
	silent   bool // confirmed by a direct look
	epochs   map[int64]time.Time
}

// NewTracker expects signs of life from the observers. settle is how long an
// observer has, after its first sign of life since we began to listen, to send what it held back.
func NewTracker(settle time.Duration, observers ...string) *Tracker {
	t := &Tracker{settle: settle, observers: map[string]*observer{}, changed: make(chan struct{}, 1)}
	for _, name := range observers {
		t.observers[name] = newObserver()
	}
	return t
}

func newObserver() *observer {
	return &observer{validity: DefaultValidity, epochs: map[int64]time.Time{}}
}

// Listen says that we hear the bus from now on. It changes nothing while we listen already.
func (t *Tracker) Listen(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listening {
		return
	}
	t.listening, t.since = true, now
	for _, o := range t.observers {
		o.first, o.holding, o.silent = time.Time{}, time.Time{}, false
	}
	t.poke()
}

// Deafen says that we do not hear the bus.
func (t *Tracker) Deafen() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.listening {
		t.listening = false
		t.poke()
	}
}

// Hear notes a sign of life: a live heartbeat or observation, never a retained one.
// validity of zero leaves it as it was.
func (t *Tracker) Hear(name string, epoch int64, validity time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	if o == nil {
		return // nobody that a managed kind depends on
	}
	if o.first.IsZero() || o.silent {
		t.poke()
	}
	if o.first.IsZero() {
		o.first = now
	}
	if validity > 0 {
		o.validity = validity
	}
	o.last, o.silent = now, false
	o.epochs[epoch] = now
	if len(o.epochs) > keepEpochs {
		delete(o.epochs, slices.Min(slices.Collect(maps.Keys(o.epochs))))
	}
}

// Holding notes that an observer says that it has not sent all yet. It is asked only
// of one that has not settled: whoever is busy always holds something back.
func (t *Tracker) Holding(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	if o == nil || o.first.IsZero() || !now.Before(t.settled(o)) {
		return
	}
	o.holding = now
	t.poke()
}

// settled is when the observer has had its time to send what it held back: after the
// last time that it said it does, but not for ever, since something may never leave.
func (t *Tracker) settled(o *observer) time.Time {
	at := o.first.Add(t.settle)
	if o.holding.IsZero() {
		return at
	}
	longest := o.first.Add(max(o.validity, t.settle))
	if at = o.holding.Add(o.validity/3 + t.settle); at.After(longest) {
		return longest
	}
	return at
}

// Confirm notes that a direct look into the stream found no sign of life after the last one that we know.
func (t *Tracker) Confirm(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.observers[name]; o != nil && t.listening && !now.Before(t.deadline(o)) {
		o.silent = true
		t.poke()
	}
}

// Judge returns what can be said about an observer now, and when that may change
// without anything being heard (zero: never).
func (t *Tracker) Judge(name string, now time.Time) (Verdict, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	switch {
	case o == nil || !t.listening:
		return Deaf, time.Time{}
	case o.silent:
		return Silent, time.Time{}
	case o.first.IsZero():
		return Unsure, t.deadline(o)
	case now.Before(t.settled(o)):
		return Unsure, t.settled(o)
	default:
		return Speaking, t.deadline(o)
	}
}

// EpochExpired says whether nothing of that epoch or a greater one was heard for the
// validity, and if not, when that will be.
func (t *Tracker) EpochExpired(name string, epoch int64, validity time.Duration, now time.Time) (bool, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	if o == nil || !t.listening {
		return false, now.Add(validity)
	}
	last := t.since
	for e, at := range o.epochs {
		if e >= epoch && at.After(last) {
			last = at
		}
	}
	expiry := last.Add(validity)
	return !now.Before(expiry), expiry
}

// Observers lists those from whom signs of life are expected, in alphabetical order.
func (t *Tracker) Observers() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.observers))
}

// LastHeard returns the last sign of life of an observer; zero: none yet.
func (t *Tracker) LastHeard(name string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.observers[name]; o != nil {
		return o.last
	}
	return time.Time{}
}

// Changed fires when a verdict may have changed.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

// deadline is when the observer's time is over, if nothing more is heard.
func (t *Tracker) deadline(o *observer) time.Time {
	last := t.since
	if o.last.After(last) {
		last = o.last
	}
	return last.Add(o.validity)
}

func (t *Tracker) poke() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}
