package history

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Names of the stores in metrics.
const (
	storeBucket = "kv"
	storeStream = "lifecycle"
)

// yield is how long a stream that rejected events is not used: long enough for the operators
// to write the conditions themselves. Only a later event can show whether the stream accepts events again.
const yield = time.Minute

// Healthy reports whether the bus accepts the writes of the store: it has responded, and since
// then it was neither unavailable nor rejected all writes for longer than patience.
func (s *Store) Healthy(patience time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.proven || !s.failing.IsZero() && s.clock.Since(s.failing) >= patience {
		return false
	}
	for _, since := range s.refused {
		if s.clock.Since(since) >= patience {
			return false
		}
	}
	return true
}

// NeedsProbe reports whether [Store.Probe] can change the health.
func (s *Store) NeedsProbe() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.proven || !s.failing.IsZero() || len(s.refused) > 0
}

// Probe checks whether the bucket and the stream respond, and whether a bucket that rejected
// writes accepts them again.
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
	since, refused := s.refused[storeStream]
	if refused && s.clock.Since(since) >= yield {
		delete(s.refused, storeStream)
	}
	_, refused = s.refused[storeBucket]
	s.mu.Unlock()
	if !refused {
		return nil
	}
	// The key has fewer tokens than that of any object.
	token, err := contract.EncodeToken(s.cluster)
	if err != nil {
		return err
	}
	return s.noteWrite(storeBucket, kv.Purge(ctx, token+".probe", jetstream.PurgeTTL(tombstone)))
}

// note records since when the bus has not responded. A conflict with another write counts
// as a response.
func (s *Store) note(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isAnswer(err):
		s.failing, s.proven = time.Time{}, true
	case s.failing.IsZero():
		s.failing = s.clock.Now()
	}
	return err
}

// noteWrite is [Store.note] for a write. A rejected write has no bearing on reads, and a
// successful read none on writes.
func (s *Store) noteWrite(store string, err error) error {
	s.mu.Lock()
	_, refused := s.refused[store]
	switch {
	case isAnswer(err):
		delete(s.refused, store)
	case !refused:
		s.refused[store] = s.clock.Now()
	}
	s.mu.Unlock()
	return s.note(err)
}

func isAnswer(err error) bool {
	return err == nil || errors.Is(err, ErrConflict) || wrongSequence(err)
}
