package readmodel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Causes for the end of a subscription.
var (
	// ErrSlowConsumer reports that the consumer did not keep up.
	ErrSlowConsumer = errors.New("the reader is too slow")
	// ErrExpired reports that the events after a sequence are no longer, or not yet, in the stream.
	ErrExpired = errors.New("the stream does not hold the next event")
)

// queue is the capacity of the queue of a reader, in events.
const queue = 256

// HubConfig holds the dependencies of a Hub. All fields except Queue are required.
type HubConfig struct {
	Bus     Bus
	Cluster string
	Clock   clock.WithTicker
	Log     logr.Logger
	// Queue is the capacity of the queue of a reader, in events; zero means 256.
	Queue int
}

// Hub reads the lifecycle stream once for all subscriptions.
type Hub struct {
	cfg HubConfig

	mu            sync.Mutex
	following     bool   // a session is running
	head          uint64 // last sequence that the session delivered or started after
	subscriptions map[*Subscription]struct{}
}

// NewHub returns a hub that reads nothing before [Hub.Start].
func NewHub(cfg HubConfig) *Hub {
	if cfg.Queue == 0 {
		cfg.Queue = queue
	}
	return &Hub{cfg: cfg, subscriptions: map[*Subscription]struct{}{}}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica has readers.
func (h *Hub) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable: it reads the stream until ctx ends. Whenever the
// connection breaks, the stream is re-created or a delivery is missed, all subscriptions
// end and a new session starts at the end of the stream.
func (h *Hub) Start(ctx context.Context) error {
	for delay := minBackoff; ctx.Err() == nil; delay = min(2*delay, maxBackoff) {
		started, err := h.session(ctx)
		if started {
			delay = minBackoff
		}
		h.end(ErrBusUnavailable)
		h.cfg.Log.V(1).Info("Failed to read the lifecycle stream", "reason", err.Error(), "retryAfter", delay.String())
		h.pause(ctx, delay)
	}
	return nil
}

// pause waits for the delay, or until a server is connected.
func (h *Hub) pause(ctx context.Context, delay time.Duration) {
	nc := h.cfg.Bus.JetStream().Conn()
	reached := nc.StatusChanged(nats.CONNECTED)
	defer nc.RemoveStatusListener(reached)
	timer := h.cfg.Clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-reached:
	case <-timer.C():
	}
}

// session delivers events until an error occurs. started reports whether the subscription started.
func (h *Hub) session(ctx context.Context) (started bool, err error) {
	nc := h.cfg.Bus.JetStream().Conn()
	lost := nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	defer nc.RemoveStatusListener(lost)
	filter, err := Filter{}.subject(h.cfg.Cluster)
	if err != nil {
		return false, err
	}
	stream, err := h.stream(ctx)
	if err != nil {
		return false, err
	}
	head := stream.CachedInfo().State.LastSeq
	r, err := openReader(ctx, stream, span{filter: filter, from: head + 1})
	if err != nil {
		return false, err
	}
	defer r.close(ctx)
	h.setFollowing(head)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-ctx.Done():
		case <-lost:
			cancel(ErrBusUnavailable)
		}
	}()
	for {
		m, err := r.next(ctx, 0)
		if err != nil {
			return true, errors.Join(context.Cause(ctx), err)
		}
		e, err := m.event()
		if err != nil {
			h.cfg.Log.Info("Skipped invalid event", "subject", m.Subject(), "reason", err.Error())
		}
		h.dispatch(e, m.meta.Sequence.Stream, err == nil)
	}
}

func (h *Hub) stream(ctx context.Context) (jetstream.Stream, error) {
	if !h.cfg.Bus.Connected() {
		return nil, ErrBusUnavailable
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	stream, err := h.cfg.Bus.JetStream().Stream(ctx, contract.StreamLifecycle)
	if err != nil {
		return nil, fmt.Errorf("get stream info of %s: %w", contract.StreamLifecycle, err)
	}
	return stream, nil
}

func (h *Hub) setFollowing(head uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.following, h.head = true, head
}

// end ends all subscriptions.
func (h *Hub) end(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.following = false
	for s := range h.subscriptions {
		h.closeSubscription(s, cause)
	}
}

// dispatch sends an event to the matching subscriptions without blocking.
func (h *Hub) dispatch(e Event, sequence uint64, valid bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head = sequence
	for s := range h.subscriptions {
		if valid && s.filter.matches(e.Ref) {
			select {
			case s.events <- e:
			default:
				h.closeSubscription(s, ErrSlowConsumer)
				continue
			}
		}
		s.lastSequence.Store(sequence)
	}
}

// closeSubscription ends a subscription. The caller holds the lock.
func (h *Hub) closeSubscription(s *Subscription, cause error) {
	delete(h.subscriptions, s)
	s.cause = cause
	close(s.done)
}

// Subscription receives the events after Head that match a filter.
type Subscription struct {
	// Head is the sequence after which events are live.
	Head uint64

	hub          *Hub
	filter       Filter
	stream       jetstream.Stream
	events       chan Event
	done         chan struct{}
	cause        error // valid once done is closed
	lastSequence atomic.Uint64
}

// Subscribe starts a subscription, which the caller must close. With after, reading resumes
// after that sequence; the error is [ErrExpired] if later events are missing from the stream
// or the stream is shorter, and [ErrBusUnavailable] while the bus is unavailable.
func (h *Hub) Subscribe(ctx context.Context, f Filter, after *uint64) (*Subscription, error) {
	stream, err := h.stream(ctx)
	if err != nil {
		return nil, errors.Join(ErrBusUnavailable, err)
	}
	if after != nil {
		if err := resumable(stream.CachedInfo().State, *after); err != nil {
			return nil, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.following {
		return nil, ErrBusUnavailable
	}
	s := &Subscription{
		Head: h.head, hub: h, filter: f, stream: stream,
		events: make(chan Event, h.cfg.Queue), done: make(chan struct{}),
	}
	s.lastSequence.Store(h.head)
	h.subscriptions[s] = struct{}{}
	return s, nil
}

func resumable(state jetstream.StreamState, after uint64) error {
	switch {
	case after > state.LastSeq:
		return fmt.Errorf("%w: it ends at %d, before %d, so it was re-created", ErrExpired, state.LastSeq, after)
	case after+1 < state.FirstSeq:
		return fmt.Errorf("%w: it begins at %d, so events after %d are missing", ErrExpired, state.FirstSeq, after)
	}
	return nil
}

// Replay passes the events after the given sequence, up to and including Head, to each.
func (s *Subscription) Replay(ctx context.Context, after uint64, each func(Event) error) error {
	filter, err := s.filter.subject(s.hub.cfg.Cluster)
	if err != nil {
		return err
	}
	return replay(ctx, s.stream, span{filter: filter, from: after + 1, to: s.Head}, each)
}

// Events returns the channel of live events.
func (s *Subscription) Events() <-chan Event { return s.events }

// Done returns a channel that is closed when the subscription has ended; then Cause returns the reason.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Cause returns [ErrSlowConsumer] or [ErrBusUnavailable] once Done is closed.
func (s *Subscription) Cause() error { return s.cause }

// Position returns the sequence up to which all events were received, so that a reader
// may resume after it; false while events are queued.
func (s *Subscription) Position() (uint64, bool) {
	lastSequence := s.lastSequence.Load() // load before the queue: passed events are already queued
	return lastSequence, len(s.events) == 0
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subscriptions, s)
}
