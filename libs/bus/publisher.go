package bus

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/flotilla-dev/flotilla/libs/bus/internal/streamreset"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// ErrNotReady makes the publisher call a build again after a backoff. Any other error of
// a build drops the message.
var ErrNotReady = errors.New("message cannot be built yet")

const (
	maxInFlight        = 64               // subjects that are being sent at a time
	streamCheckEvery   = 15 * time.Second // maximum time until a re-created stream is detected
	streamCheckTimeout = 2 * time.Second
	streamRecheck      = time.Second // after a failed check
)

// Publisher sends the newest message of each subject to the stream of observations, in the background: one at a
// time for each subject, repeatedly until the stream has acknowledged it or a newer
// one has been offered. It holds entries only for subjects with a message to send.
type Publisher struct {
	conn       *Conn
	log        logr.Logger
	checkEvery time.Duration
	wakeup     chan struct{}
	stream     *streamreset.Monitor

	mu       sync.Mutex
	entries  map[string]*entry
	ready    []*entry
	delayed  []*entry  // waiting until entry.due
	nextDue  time.Time // not after the first of them
	inFlight int
	backoff  sharedBackoff
	checkDue bool
	checked  uint64    // reconnects of the connection before the last check
	recheck  time.Time // when to retry a failed check
	onReset  []func()
}

// entry is one subject with something to send.
type entry struct {
	subject  string
	build    func() (Message, error) // the newest offer, not built yet
	message  *Message                // built, not acknowledged
	sending  bool
	waiting  bool // in ready or in delayed
	failures int
	due      time.Time
}

// PublisherOption changes a [Publisher].
type PublisherOption func(*Publisher)

// WithStreamCheck sets the interval of the checks that detect a re-created stream while
// nothing is published. After a reconnect the publisher checks at once.
func WithStreamCheck(every time.Duration) PublisherOption {
	return func(p *Publisher) { p.checkEvery = every }
}

// NewPublisher returns a publisher that sends nothing before [Publisher.Run].
func NewPublisher(conn *Conn, opts ...PublisherOption) *Publisher {
	p := &Publisher{
		conn:       conn,
		log:        conn.log.WithName("publisher"),
		checkEvery: streamCheckEvery,
		wakeup:     make(chan struct{}, 1),
		stream:     streamreset.New(contract.StreamObservations),
		entries:    map[string]*entry{},
	}
	for _, o := range opts {
		o(p)
	}
	conn.mu.Lock()
	defer conn.mu.Unlock()
	conn.publishers = append(conn.publishers, p)
	return p
}

// Enqueue makes build the next message of subject, in place of any that was not sent
// yet. It never blocks, never uses the network and cannot fail; build runs in the
// sender, so it must not wait for code that waits for Enqueue.
func (p *Publisher) Enqueue(subject string, build func() (Message, error)) {
	p.mu.Lock()
	e := p.entries[subject]
	if e == nil {
		e = &entry{subject: subject}
		p.entries[subject] = e
		p.conn.metrics.Outbox.Inc()
	} else if e.build != nil || (e.message != nil && !e.sending) {
		p.conn.metrics.Coalesced.Inc()
	}
	e.build = build
	p.queue(e)
	p.mu.Unlock()
	p.notify()
}

// cancel drops the messages of the subjects, except those that are being sent. It returns the subjects without a message.
func (p *Publisher) cancel(subjects map[string]bool) []string {
	if len(subjects) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var canceled []string
	for subject := range subjects {
		e := p.entries[subject]
		if e != nil && e.sending {
			continue
		}
		canceled = append(canceled, subject)
		if e != nil {
			delete(p.entries, subject)
			p.conn.metrics.Outbox.Dec()
		}
	}
	dropped := func(e *entry) bool { return p.entries[e.subject] != e }
	p.ready = slices.DeleteFunc(p.ready, dropped)
	p.delayed = slices.DeleteFunc(p.delayed, dropped)
	return canceled
}

// OnReset adds a function that runs after a stream reset, or when messages may be lost: the caller must offer its whole
// state again. It is called between two sends and must not block.
func (p *Publisher) OnReset(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onReset = append(p.onReset, f)
}

// Depth returns the number of subjects with a message that is not acknowledged yet.
func (p *Publisher) Depth() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}

// Start implements manager.Runnable of controller-runtime; see [Publisher.Run].
func (p *Publisher) Start(ctx context.Context) error { return p.Run(ctx) }

// Run sends until ctx ends. Call it once only.
func (p *Publisher) Run(ctx context.Context) error {
	clk := p.conn.cfg.Clock
	p.conn.OnReconnect(p.reconnected)
	p.reconnected()
	ticker := clk.NewTicker(p.checkEvery)
	defer ticker.Stop()
	var senders sync.WaitGroup
	defer senders.Wait()

	for ctx.Err() == nil {
		if p.consumeCheck(clk.Now()) {
			p.checkStream(ctx)
		}
		e, wait := p.next(clk.Now())
		if e != nil {
			senders.Go(func() { p.send(ctx, e) })
			continue
		}
		timer := clk.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-p.wakeup:
		case <-timer.C():
		case <-ticker.C():
			p.requestCheck()
		}
		timer.Stop()
	}
	return nil
}

// idle is how long Run sleeps while no message is due.
const idle = time.Hour

// next returns the subject to send now, or the time until the next one is due.
func (p *Publisher) next(now time.Time) (*entry, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := p.collectDue(now)
	if !p.conn.Connected() {
		return nil, idle
	}
	if p.conn.nc.Stats().Reconnects != p.checked {
		return nil, 0 // check first: a new message hides whether earlier ones were lost
	}
	if !p.recheck.IsZero() {
		wait = min(wait, max(0, p.recheck.Sub(now)))
	}
	if len(p.ready) == 0 || p.inFlight >= p.backoff.limit() {
		return nil, wait
	}
	if until := p.backoff.until.Sub(now); until > 0 {
		return nil, min(wait, until)
	}
	e := p.ready[0]
	p.ready = p.ready[1:]
	e.waiting, e.sending = false, true
	p.inFlight++
	return e, 0
}

// collectDue moves due entries to the ready queue and returns when the next one is due.
func (p *Publisher) collectDue(now time.Time) time.Duration {
	if len(p.delayed) == 0 {
		return idle
	}
	if d := p.nextDue.Sub(now); d > 0 {
		return d
	}
	wait := idle
	kept := p.delayed[:0]
	for _, e := range p.delayed {
		if d := e.due.Sub(now); d > 0 {
			wait = min(wait, d)
			kept = append(kept, e)
			continue
		}
		p.ready = append(p.ready, e)
	}
	clear(p.delayed[len(kept):])
	p.delayed, p.nextDue = kept, now.Add(wait)
	return wait
}

// queue adds an entry to the queue unless it is queued or being sent. The caller holds the lock.
func (p *Publisher) queue(e *entry) {
	if e.waiting || e.sending {
		return
	}
	e.waiting = true
	p.ready = append(p.ready, e)
}

func (p *Publisher) notify() {
	select {
	case p.wakeup <- struct{}{}:
	default:
	}
}

// reconnected makes all unacknowledged messages due at once.
func (p *Publisher) reconnected() {
	p.mu.Lock()
	p.checkDue = true
	p.backoff = sharedBackoff{}
	p.ready = append(p.ready, p.delayed...)
	p.delayed = nil
	p.mu.Unlock()
	p.notify()
}

func (p *Publisher) requestCheck() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checkDue = true
}

func (p *Publisher) consumeCheck(now time.Time) bool {
	if !p.conn.Connected() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.conn.nc.Stats().Reconnects; n != p.checked {
		p.checked, p.checkDue = n, true
		p.stream.Suspect()
	}
	due := p.checkDue || (!p.recheck.IsZero() && !now.Before(p.recheck))
	if due {
		p.checkDue, p.recheck = false, time.Time{}
	}
	return due
}
