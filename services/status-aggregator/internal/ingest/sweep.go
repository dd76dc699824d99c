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
	sweepSize    = 4096            // subjects that wait to be swept
	sweepTimeout = 2 * time.Second // for one of them
)

// errOtherStream says that the stream is not the one in which the place was found.
var errOtherStream = errors.New("the stream was re-created or set back")

// sweeper removes last words in the background. One that it cannot remove is met again
// when the stream is read anew.
type sweeper struct {
	bus     Bus
	metrics *metrics.Metrics
	queue   chan remains

	mu  sync.Mutex
	era int // of the stream: places of a former one mean nothing in the present one
}

// remains is what is left of an object: its subject, and the last place that may go.
type remains struct {
	subject string
	upTo    uint64
	era     int
}

func newSweeper(b Bus, m *metrics.Metrics) *sweeper {
	return &sweeper{bus: b, metrics: m, queue: make(chan remains, sweepSize)}
}

// restart says that the stream was re-created or set back.
func (s *sweeper) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era++
}

func (s *sweeper) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.era
}

func (s *sweeper) sweep(subject string, upTo uint64) {
	select {
	case s.queue <- remains{subject, upTo, s.now()}:
	default:
		s.metrics.Swept.WithLabelValues("dropped").Inc()
	}
}

func (s *sweeper) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-s.queue:
			err := s.purge(ctx, next)
			s.metrics.Swept.WithLabelValues(s.outcome(err)).Inc()
			if err != nil {
				logr.FromContextOrDiscard(ctx).Info("Left the last word on an object that is gone",
					"subject", next.subject, "reason", err.Error())
			}
		}
	}
}

func (s *sweeper) purge(ctx context.Context, r remains) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	stream, err := s.bus.JetStream().Stream(ctx, contract.StreamObservations)
	if err != nil {
		return fmt.Errorf("look at stream %q: %w", contract.StreamObservations, err)
	}
	if r.era != s.now() || stream.CachedInfo().State.LastSeq < r.upTo {
		return errOtherStream
	}
	// The sequence is that of the first message to stay.
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(r.subject), jetstream.WithPurgeSequence(r.upTo+1)); err != nil {
		return fmt.Errorf("purge %q: %w", r.subject, err)
	}
	return nil
}

func (s *sweeper) outcome(err error) string {
	switch {
	case err == nil:
		return "purged"
	case errors.Is(err, errOtherStream):
		return "dropped"
	case s.bus.Denied(purgeSubject):
		return "denied"
	default:
		return bus.Result(nil, err)
	}
}

// purgeSubject is the request for which the right may be missing.
const purgeSubject = "$JS.API.STREAM.PURGE." + contract.StreamObservations
