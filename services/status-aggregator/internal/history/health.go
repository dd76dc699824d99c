package history

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

// yield is how long a stream that rejected events, or a bucket that was full, is not used: long enough for the
// operators to write the conditions themselves. Only a later event or entry can show whether it is accepted again.
const yield = time.Minute

// rejection is the state of a bucket or stream that rejects writes.
type rejection struct {
	since time.Time
	// full is whether it could not store a write. It may still store smaller ones, so their success proves nothing.
	full bool
}

// Healthy reports whether the bus accepts the writes of the store: it has responded, and since
// then it was neither unavailable nor rejected all writes for longer than timeout.
func (s *Store) Healthy(timeout time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.responded || !s.failing.IsZero() && s.clock.Since(s.failing) >= timeout {
		return false
	}
	for _, r := range s.rejections {
		if s.clock.Since(r.since) >= timeout {
			return false
		}
	}
	return true
}

// NeedsProbe reports whether [Store.Probe] can change the health.
func (s *Store) NeedsProbe() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.responded || !s.failing.IsZero() || len(s.rejections) > 0
}

// Probe checks whether the bucket and the stream respond, and whether a bucket that rejected
// writes accepts them again. One that was full is used again after yield.
func (s *Store) Probe(ctx context.Context) error {
	kv, err := s.bucket(ctx)
	if err == nil {
		_, err = kv.Status(ctx)
	}
	if err == nil {
		var stream jetstream.Stream
		if stream, err = s.lifecycle(ctx); err == nil {
			_, err = stream.Info(ctx)
		}
	}
	if err = s.note(err); err != nil {
		return err
	}
	s.mu.Lock()
	r, rejected := s.rejections[metrics.StoreStream]
	if rejected && s.clock.Since(r.since) >= yield {
		delete(s.rejections, metrics.StoreStream)
	}
	_, rejected = s.rejections[metrics.StoreBucket]
	s.mu.Unlock()
	if !rejected {
		return nil
	}
	// The key has fewer tokens than that of any object.
	token, err := contract.EncodeToken(s.cluster)
	if err != nil {
		return err
	}
	key := token + ".probe"
	err = kv.Purge(ctx, key, jetstream.PurgeTTL(tombstone))
	s.count(key, err)
	return s.recordWrite(metrics.StoreBucket, err)
}

// note records since when the bus has not responded. A conflict with another write counts
// as a response.
func (s *Store) note(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isResponse(err):
		s.failing, s.responded = time.Time{}, true
	case s.failing.IsZero():
		s.failing = s.clock.Now()
	}
	return err
}

// recordWrite is [Store.note] for a write. A rejected write has no bearing on reads, and a
// successful read none on writes.
func (s *Store) recordWrite(store string, err error) error {
	s.mu.Lock()
	r, rejected := s.rejections[store]
	switch {
	case !isResponse(err):
		if !rejected {
			r.since = s.clock.Now()
		}
		r.full = r.full || isFull(err)
		s.rejections[store] = r
	case !r.full || s.clock.Since(r.since) >= yield:
		delete(s.rejections, store)
	}
	s.mu.Unlock()
	return s.note(err)
}

func isResponse(err error) bool {
	return err == nil || errors.Is(err, ErrConflict) || bus.IsConflict(err)
}
