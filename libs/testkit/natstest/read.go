package natstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	readTimeout  = 60 * time.Second
	readInterval = 25 * time.Millisecond
	// answerTimeout bounds one request: a request on a connection that the server has just closed is never answered.
	answerTimeout = 5 * time.Second
)

// Messages reads a stream from its first to its last message and skips deleted messages between them. It retries a failed
// read for up to a minute, since requests can fail shortly after a reconnect.
func Messages(t testing.TB, js jetstream.JetStream, stream string) []*jetstream.RawStreamMsg {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
	defer cancel()
	tick := time.NewTicker(readInterval) // package expect would add Kubernetes dependencies to libs/bus
	defer tick.Stop()
	for {
		out, err := read(ctx, js, stream)
		if err == nil {
			return out
		}
		select {
		case <-ctx.Done():
			t.Fatalf("read stream %s: %v", stream, err)
		case <-tick.C:
		}
	}
}

func read(ctx context.Context, js jetstream.JetStream, name string) ([]*jetstream.RawStreamMsg, error) {
	stream, err := withTimeout(ctx, func(ctx context.Context) (jetstream.Stream, error) { return js.Stream(ctx, name) })
	if err != nil {
		return nil, err
	}
	state := stream.CachedInfo().State
	if state.Msgs == 0 {
		return nil, nil
	}
	var out []*jetstream.RawStreamMsg
	for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
		m, err := withTimeout(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return stream.GetMsg(ctx, seq) })
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func withTimeout[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return request(ctx)
}
