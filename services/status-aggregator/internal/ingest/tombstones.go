package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/client-go/util/workqueue"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

const (
	purgeTimeout    = 2 * time.Second // of one subject
	minPurgeBackoff = time.Second
	maxPurgeBackoff = time.Minute
)

// errOtherStream reports that the position belongs to a former generation of the stream.
var errOtherStream = errors.New("the stream was re-created or reset")

// tombstonePurger purges the observations of deleted objects in the background, and repeats purges that fail.
type tombstonePurger struct {
	bus     Bus
	metrics *metrics.Metrics
	// current reports whether a position belongs to the current generation of the stream.
	current func(model.Position) bool
	queue   workqueue.TypedRateLimitingInterface[purgeRequest]

	mu   sync.Mutex
	done map[purgeRequest]func() // of the pending requests
}

// purgeRequest identifies the observations to purge: the subject, and the position of the last one.
type purgeRequest struct {
	subject string
	upTo    model.Position
}

func newTombstonePurger(b Bus, m *metrics.Metrics, current func(model.Position) bool) *tombstonePurger {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[purgeRequest](minPurgeBackoff, maxPurgeBackoff)
	return &tombstonePurger{
		bus: b, metrics: m, current: current,
		queue: workqueue.NewTypedRateLimitingQueue(limiter), done: map[purgeRequest]func(){},
	}
}

// enqueue requests a purge, unless the same request is pending. done is called once the purge need not be requested again.
func (s *tombstonePurger) enqueue(subject string, upTo model.Position, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := purgeRequest{subject, upTo}
	if _, pending := s.done[r]; !pending { // else it waits for its next attempt
		s.queue.Add(r)
	}
	s.done[r] = done
}

func (s *tombstonePurger) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.queue.ShutDown)()
	for {
		r, ended := s.queue.Get()
		if ended || ctx.Err() != nil {
			return nil
		}
		s.handle(ctx, r)
		s.queue.Done(r)
	}
}

func (s *tombstonePurger) handle(ctx context.Context, r purgeRequest) {
	err := s.purge(ctx, r)
	outcome := s.outcome(err)
	s.metrics.Purged.WithLabelValues(outcome).Inc()
	if err != nil && s.queue.NumRequeues(r) == 0 {
		logr.FromContextOrDiscard(ctx).Info("Failed to purge observations of deleted object", "subject", r.subject, "reason", err.Error())
	}
	switch outcome {
	case outcomePurged, outcomeDenied:
		s.take(r)()
	case outcomeDropped:
		s.take(r)
	default:
		s.queue.AddRateLimited(r)
	}
}

// take removes a request from the pending ones and returns its function.
func (s *tombstonePurger) take(r purgeRequest) func() {
	s.queue.Forget(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.done[r]
	delete(s.done, r)
	return done
}

func (s *tombstonePurger) purge(ctx context.Context, r purgeRequest) error {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	stream, err := s.bus.JetStream().Stream(ctx, contract.StreamObservations)
	if err != nil {
		return fmt.Errorf("get stream info of %q: %w", contract.StreamObservations, err)
	}
	if !s.current(r.upTo) || stream.CachedInfo().State.LastSeq < r.upTo.Sequence {
		return errOtherStream
	}
	// The sequence is that of the first message to keep.
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(r.subject), jetstream.WithPurgeSequence(r.upTo.Sequence+1)); err != nil {
		return fmt.Errorf("purge %q: %w", r.subject, err)
	}
	return nil
}

// Outcomes of a purge after which it is not repeated. Without the permission it would never succeed, and keep the object.
const (
	outcomePurged  = "purged"
	outcomeDenied  = "denied"
	outcomeDropped = "dropped" // the caller requests it again for the current stream if the object is still missing
)

func (s *tombstonePurger) outcome(err error) string {
	switch {
	case err == nil:
		return outcomePurged
	case errors.Is(err, errOtherStream):
		return outcomeDropped
	case s.bus.Denied(purgeSubject):
		return outcomeDenied
	default:
		return bus.Result(nil, err)
	}
}

// purgeSubject is the subject of the request, for which the permission may be missing.
const purgeSubject = "$JS.API.STREAM.PURGE." + contract.StreamObservations
