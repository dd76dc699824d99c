package liveness

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// DefaultValidity is the validity of an observer that has not reported one yet: three heartbeats of ten
// seconds.
const DefaultValidity = 30 * time.Second

// DefaultInactivity is how long an epoch may be inactive while others of its observer are alive. A new leader has observed all
// objects of the former one before that.
const DefaultInactivity = 5 * time.Minute

// maxEpochs is the number of epochs that are kept for one observer: those of its shards, and of their former leaders.
const maxEpochs = 64

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
	settle, inactivity time.Duration

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
// was first seen since the connection began, to send its pending observations; inactivity is that of
// [Tracker.EpochInactive].
func NewTracker(settle, inactivity time.Duration, observers ...string) *Tracker {
	t := &Tracker{settle: settle, inactivity: inactivity, observers: map[string]*observer{}, changed: make(chan struct{}, 1)}
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
	o := t.recordSeen(name, now)
	if o == nil {
		return
	}
	if validity > 0 {
		o.validity = validity
	}
	o.epochs[epoch] = now
	if len(o.epochs) > maxEpochs {
		delete(o.epochs, o.leastRecent())
	}
}

// recordProbed records a heartbeat that a probe found in the stream. Its epoch is recorded when it is delivered.
func (t *Tracker) recordProbed(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recordSeen(name, now)
}

// recordSeen returns nil if the name is not that of an observer of a managed kind.
func (t *Tracker) recordSeen(name string, now time.Time) *observer {
	o := t.observers[name]
	if o == nil {
		return nil
	}
	if o.first.IsZero() || o.stale {
		t.notify()
	}
	if o.first.IsZero() {
		o.first = now
	}
	o.last, o.stale = now, false
	return o
}

// leastRecent returns the epoch that has not been seen for the longest time.
func (o *observer) leastRecent() int64 {
	return slices.MinFunc(slices.Collect(maps.Keys(o.epochs)), func(a, b int64) int {
		return cmp.Or(o.epochs[a].Compare(o.epochs[b]), cmp.Compare(a, b))
	})
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

// EpochInactive reports whether no message of exactly that epoch was received for the inactivity, which the tracker was
// created with. An observer may consist of shards, each with an epoch of its own: it is alive while one of them is, but
// the observations of the others become stale.
func (t *Tracker) EpochInactive(name string, epoch int64, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	return o != nil && t.connected && !now.Before(t.inactiveFrom(o.epochs[epoch]))
}

// InactiveEpochs returns how many epochs of an observer are inactive, and when the next one will be if it is not seen again
// (zero for never). Epochs that were not seen since the connection began count as one.
func (t *Tracker) InactiveEpochs(name string, now time.Time) (inactive int, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.observers[name]
	if o == nil || !t.connected {
		return 0, time.Time{}
	}
	for _, last := range append(slices.Collect(maps.Values(o.epochs)), t.since) {
		switch from := t.inactiveFrom(last); {
		case !now.Before(from):
			inactive++
		case next.IsZero() || from.Before(next):
			next = from
		}
	}
	return inactive, next
}

// inactiveFrom returns when an epoch becomes inactive that was last seen at the given time, or never.
func (t *Tracker) inactiveFrom(last time.Time) time.Time {
	if last.Before(t.since) {
		last = t.since
	}
	return last.Add(t.inactivity)
}

// Observers returns the tracked observers in alphabetical order.
func (t *Tracker) Observers() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.observers))
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
