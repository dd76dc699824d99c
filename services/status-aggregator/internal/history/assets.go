package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

func (s *Store) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	s.mu.Lock()
	kv := s.kv
	s.mu.Unlock()
	if kv != nil {
		return kv, nil
	}
	kv, err := s.bus.JetStream().KeyValue(ctx, contract.BucketStatus)
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", contract.BucketStatus, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kv = kv
	return kv, nil
}

func (s *Store) lifecycle(ctx context.Context) (jetstream.Stream, error) {
	s.mu.Lock()
	stream := s.stream
	s.mu.Unlock()
	if stream != nil {
		return stream, nil
	}
	stream, err := s.bus.JetStream().Stream(ctx, contract.StreamLifecycle)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", contract.StreamLifecycle, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream = stream
	return stream, nil
}

// isDiscarded reports whether the stream has discarded everything of the time at which the entry was stored, and
// with it the pending events of the entry. It compares times of the server only.
func (s *Store) isDiscarded(ctx context.Context, r *Record) (bool, error) {
	if r.stored.IsZero() {
		return false, nil
	}
	state, err := s.lifecycleState(ctx)
	if err != nil {
		return false, err
	}
	kept := state.FirstTime
	if state.Msgs == 0 {
		kept = state.LastTime // of the last event that was discarded
	}
	// A new stream has discarded nothing.
	return state.FirstSeq > 1 && r.stored.Before(kept), nil
}

func (s *Store) lifecycleState(ctx context.Context) (jetstream.StreamState, error) {
	stream, err := s.lifecycle(ctx)
	if err != nil {
		return jetstream.StreamState{}, s.note(err)
	}
	info, err := stream.Info(ctx)
	if err = s.note(err); err != nil {
		return jetstream.StreamState{}, fmt.Errorf("read the state of stream %s: %w", contract.StreamLifecycle, err)
	}
	return info.State, nil
}

// isFull reports whether the bucket or the stream could not store the message, as when it is full.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == storeFailed
}

// storeFailed is the error code of a stream that failed to store a message, for which jetstream has no name.
const storeFailed jetstream.ErrorCode = 10077
