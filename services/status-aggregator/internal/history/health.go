package history

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Stores, as the metrics name them.
const (
	storeBucket = "kv"
	storeStream = "lifecycle"
)

// yield is how long a stream that took no events is left alone: long enough for the
// operators to write for themselves. Whether it takes them again only an event can tell.
const yield = time.Minute

// Works says whether the bus takes what the store writes: it has answered, and has
// neither kept silent nor refused all writes for longer than patience since.
func (s *Store) Works(patience time.Duration) bool {
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

// Doubtful says whether [Store.Probe] could tell something new.
func (s *Store) Doubtful() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.proven || !s.failing.IsZero() || len(s.refused) > 0
}

// Probe asks the bucket and the stream whether they answer, and a bucket that took no
// writes whether it takes them again.
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
	// The marker of a deleted key, with too few tokens for any object's.
	token, err := contract.EncodeToken(s.cluster)
	if err != nil {
		return err
	}
	return s.noteWrite(storeBucket, kv.Purge(ctx, token+".probe", jetstream.PurgeTTL(tombstone)))
}

// note keeps count of since when the bus does not answer. A refusal that somebody
// else's write causes is an answer.
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

// noteWrite is [Store.note] for a write. One that is refused says nothing of reads, and
// a read that is answered nothing of writes.
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
