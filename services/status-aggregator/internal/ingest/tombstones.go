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
)

// purgeTimeout bounds the purge of one subject.
const purgeTimeout = 2 * time.Second

// errOtherStream reports that the sequence belongs to an earlier state of the stream.
var errOtherStream = errors.New("the stream was re-created or reset")

// tombstonePurger purges the observations of deleted objects in the background. It forgets a request that fails: the caller
// keeps the object until done is called, and requests the purge again.
type tombstonePurger struct {
	bus     Bus
	metrics *metrics.Metrics
	queue   workqueue.TypedInterface[purgeRequest]

	mu               sync.Mutex
	done             map[purgeRequest]func() // of the queued requests
	streamGeneration int                     // of the stream: sequences of a previous generation are invalid
}

// purgeRequest identifies the observations to purge: the subject, and the last sequence to purge.
type purgeRequest struct {
	subject          string
	sequence         uint64
	streamGeneration int
}

func newTombstonePurger(b Bus, m *metrics.Metrics) *tombstonePurger {
	return &tombstonePurger{bus: b, metrics: m, queue: workqueue.NewTyped[purgeRequest](), done: map[purgeRequest]func(){}}
}

// restart begins a new stream generation after the stream was re-created or reset.
func (s *tombstonePurger) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streamGeneration++
}

func (s *tombstonePurger) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streamGeneration
}

// enqueue requests a purge, unless the same request is queued. done is called once the purge need not be requested again.
func (s *tombstonePurger) enqueue(subject string, sequence uint64, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := purgeRequest{subject, sequence, s.streamGeneration}
	s.done[r] = done
	s.queue.Add(r)
}

func (s *tombstonePurger) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.queue.ShutDown)()
	for {
		r, ended := s.queue.Get()
		if ended || ctx.Err() != nil {
			return nil
		}
		if done := s.take(r); done != nil { // else the same request was repeated and is complete
			s.handle(ctx, r, done)
		}
		s.queue.Done(r)
	}
}

// take removes a request from those that wait, so that a repetition during the purge is a new one.
func (s *tombstonePurger) take(r purgeRequest) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := s.done[r]
	delete(s.done, r)
	return done
}

func (s *tombstonePurger) handle(ctx context.Context, r purgeRequest, done func()) {
	err := s.purge(ctx, r)
	outcome := s.outcome(err)
	if outcome == outcomePurged || outcome == outcomeDenied {
		s.finish(r, done)
	}
	s.metrics.Purged.WithLabelValues(outcome).Inc()
	if err != nil {
		logr.FromContextOrDiscard(ctx).Info("Failed to purge observations of deleted object", "subject", r.subject, "reason", err.Error())
	}
}

func (s *tombstonePurger) purge(ctx context.Context, r purgeRequest) error {
	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	stream, err := s.bus.JetStream().Stream(ctx, contract.StreamObservations)
	if err != nil {
		return fmt.Errorf("get stream info of %q: %w", contract.StreamObservations, err)
	}
	if r.streamGeneration != s.now() || stream.CachedInfo().State.LastSeq < r.sequence {
		return errOtherStream
	}
	// The sequence is that of the first message to keep.
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(r.subject), jetstream.WithPurgeSequence(r.sequence+1)); err != nil {
		return fmt.Errorf("purge %q: %w", r.subject, err)
	}
	return nil
}

// finish calls done, unless the sequence has become invalid.
func (s *tombstonePurger) finish(r purgeRequest, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.streamGeneration == s.streamGeneration {
		done()
	}
}

// Outcomes of a purge after which it is not repeated. Without the permission it would never succeed, and keep the object.
const (
	outcomePurged = "purged"
	outcomeDenied = "denied"
)

func (s *tombstonePurger) outcome(err error) string {
	switch {
	case err == nil:
		return outcomePurged
	case errors.Is(err, errOtherStream):
		return "dropped"
	case s.bus.Denied(purgeSubject):
		return outcomeDenied
	default:
		return bus.Result(nil, err)
	}
}

// purgeSubject is the subject of the request, for which the permission may be missing.
const purgeSubject = "$JS.API.STREAM.PURGE." + contract.StreamObservations
