package liveness

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// DefaultValidity is the validity of an observer that has not reported one yet: three heartbeats of ten
// seconds.
const DefaultValidity = 30 * time.Second

// maxEpochs is the number of epochs that are kept for one observer.
const maxEpochs = 4

// State is the state of an observer as this process sees it.
type State int

// States of an observer.
const (
	Disconnected State = iota // no connection to the bus: no state is known
	Unconfirmed               // connected, but the observer's data may be stale
	Alive                     // last seen within its validity
	Stale                     // connected, and the observer is past its validity
)

func (v State) String() string {
	return [...]string{"Disconnected", "Unconfirmed", "Alive", "Stale"}[v]
}

// Tracker records when each observer was last seen. It is safe for concurrent use.
type Tracker struct {
	settle time.Duration

	mu        sync.Mutex
	connected bool
	since     time.Time // start of the connection
	observers map[string]*observer
	changed   chan struct{}
}

type observer struct {
	first    time.Time // first seen since the connection began; zero if not seen
	pending  time.Time // last time since then that it reported pending observations; zero if never
	last     time.Time // last seen
	validity time.Duration
	stale    bool // confirmed by a probe
	epochs   map[int64]time.Time
}

// NewTracker returns a tracker of the observers. settle is how long an observer has, after it
// was first seen since the connection began, to send its pending observations.
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

// SetConnected records that the bus is connected from now on. It has no effect if it was connected before.
func (t *Tracker) SetConnected(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.connected {
		return
	}
	t.connected, t.since = true, now
	for _, o := range t.observers {
		o.first, o.pending, o.stale = time.Time{}, time.Time{}, false
	}
	t.notify()
}

// SetDisconnected records that the bus is disconnected.
func (t *Tracker) SetDisconnected() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.connected {
		t.connected = false
		t.notify()
	}
}

// RecordSeen records a live heartbeat or observation, never a retained one. A validity of zero
// keeps the previous one.
func (t *Tracker) RecordSeen(name string, epoch int64, validity time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	if o == nil {
		return // not an observer of a managed kind
	}
	if o.first.IsZero() || o.stale {
		t.notify()
	}
	if o.first.IsZero() {
		o.first = now
	}
	if validity > 0 {
		o.validity = validity
	}
	o.last, o.stale = now, false
	o.epochs[epoch] = now
	if len(o.epochs) > maxEpochs {
		delete(o.epochs, slices.Min(slices.Collect(maps.Keys(o.epochs))))
	}
}

// RecordPending records that an observer reports pending observations. It has no effect once the
// observer has settled: a busy one always has some pending.
func (t *Tracker) RecordPending(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	if o == nil || o.first.IsZero() || !now.Before(t.settled(o)) {
		return
	}
	o.pending = now
	t.notify()
}

// settled returns when the observer has had time to send its pending observations: after it
// last reported some, but bounded, since an observation may never be sent.
func (t *Tracker) settled(o *observer) time.Time {
	at := o.first.Add(t.settle)
	if o.pending.IsZero() {
		return at
	}
	validUntil := o.first.Add(max(o.validity, t.settle))
	if at = o.pending.Add(o.validity/3 + t.settle); at.After(validUntil) {
		return validUntil
	}
	return at
}

// Confirm records that a probe of the stream found nothing newer than the last heartbeat.
func (t *Tracker) Confirm(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.observers[name]; o != nil && t.connected && !now.Before(t.deadline(o)) {
		o.stale = true
		t.notify()
	}
}

// State returns the state of an observer now, and when it may change without a message
// (zero for never).
func (t *Tracker) State(name string, now time.Time) (State, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	switch {
	case o == nil || !t.connected:
		return Disconnected, time.Time{}
	case o.stale:
		return Stale, time.Time{}
	case o.first.IsZero():
		return Unconfirmed, t.deadline(o)
	case now.Before(t.settled(o)):
		return Unconfirmed, t.settled(o)
	default:
		return Alive, t.deadline(o)
	}
}

// EpochExpired reports whether no message of that epoch or a greater one was received for
// the validity, and if not, when that will be the case.
func (t *Tracker) EpochExpired(name string, epoch int64, validity time.Duration, now time.Time) (bool, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	if o == nil || !t.connected {
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

// Observers returns the tracked observers in alphabetical order.
func (t *Tracker) Observers() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.observers))
}

// LastSeen returns when an observer was last seen; zero if not yet.
func (t *Tracker) LastSeen(name string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.observers[name]; o != nil {
		return o.last
	}
	return time.Time{}
}

// Changed fires when a state may have changed.
func (t *Tracker) Changed() <-chan struct{} { return t.changed }

// deadline returns when the validity of the observer ends without a further message.
func (t *Tracker) deadline(o *observer) time.Time {
	last := t.since
	if o.last.After(last) {
		last = o.last
	}
	return last.Add(o.validity)
}

func (t *Tracker) notify() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}
