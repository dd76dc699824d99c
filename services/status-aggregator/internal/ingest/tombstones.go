package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

const (
	purgeQueueSize = 4096            // capacity of the queue, in subjects
	purgeTimeout   = 2 * time.Second // for one subject
)

// errOtherStream reports that the sequence belongs to an earlier state of the stream.
var errOtherStream = errors.New("the stream was re-created or reset")

// tombstonePurger purges the observations of deleted objects in the background. It drops a request that fails: the caller
// keeps the object until done is called, and requests the purge again.
type tombstonePurger struct {
	bus     Bus
	metrics *metrics.Metrics
	queue   chan purgeRequest

	mu               sync.Mutex
	streamGeneration int // of the stream: sequences of a previous generation are invalid
}

// purgeRequest identifies the observations to purge: the subject, and the last sequence to purge.
type purgeRequest struct {
	subject          string
	sequence         uint64
	done             func()
	streamGeneration int
}

func newTombstonePurger(b Bus, m *metrics.Metrics) *tombstonePurger {
	return &tombstonePurger{bus: b, metrics: m, queue: make(chan purgeRequest, purgeQueueSize)}
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

// enqueue requests a purge. done is called once the purge need not be requested again.
func (s *tombstonePurger) enqueue(subject string, sequence uint64, done func()) {
	select {
	case s.queue <- purgeRequest{subject, sequence, done, s.now()}:
	default:
		s.metrics.Purged.WithLabelValues("dropped").Inc()
	}
}

func (s *tombstonePurger) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-s.queue:
			err := s.purge(ctx, next)
			outcome := s.outcome(err)
			if outcome == outcomePurged || outcome == outcomeDenied {
				s.finish(next)
			}
			s.metrics.Purged.WithLabelValues(outcome).Inc()
			if err != nil {
				logr.FromContextOrDiscard(ctx).Info("Failed to purge observations of deleted object",
					"subject", next.subject, "reason", err.Error())
			}
		}
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
func (s *tombstonePurger) finish(r purgeRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.streamGeneration == s.streamGeneration {
		r.done()
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
