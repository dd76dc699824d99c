package readmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	apiTimeout = 5 * time.Second
	// stall is how long the next message of the past may take.
	stall = 5 * time.Second
	// abandoned is when the server removes a consumer that its reader could not remove.
	abandoned = time.Minute
	pullSize  = 500
	heartbeat = 5 * time.Second // between the bus and us; two missed ones end a session
)

// span is a part of a stream, both ends included.
type span struct {
	filter   string
	from, to uint64
}

// replay reads a span of the stream with a consumer of its own, and stops at the first error of
// each. It skips invalid events, as the live subscription does.
func replay(ctx context.Context, stream jetstream.Stream, s span, each func(Event) error) error {
	if s.from > s.to {
		return nil
	}
	r, err := openReader(ctx, stream, s.filter, max(s.from, 1))
	if err != nil {
		return err
	}
	defer r.close(ctx)
	for left := r.pending; left > 0; {
		m, err := r.next(ctx, stall)
		if err != nil {
			return err
		}
		if m.meta.Sequence.Stream > s.to {
			return nil
		}
		if e, err := m.event(); err == nil {
			if err := each(e); err != nil {
				return err
			}
		}
		if m.meta.Sequence.Stream == s.to {
			return nil
		}
		left = m.meta.NumPending
	}
	return nil
}

// reader reads a stream in order, without acknowledging.
type reader struct {
	stream   jetstream.Stream
	name     string
	messages jetstream.MessagesContext
	pending  uint64 // messages that were there when it was opened
	expected uint64
}

func openReader(ctx context.Context, stream jetstream.Stream, filter string, from uint64) (*reader, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		AckPolicy: jetstream.AckNonePolicy, FilterSubject: filter,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: abandoned,
	})
	if err != nil {
		return nil, fmt.Errorf("create a consumer: %w", err)
	}
	info := consumer.CachedInfo()
	r := &reader{stream: stream, name: info.Name, pending: info.NumPending}
	if r.messages, err = consumer.Messages(jetstream.PullMaxMessages(pullSize), jetstream.PullHeartbeat(heartbeat)); err != nil {
		r.remove(ctx)
		return nil, fmt.Errorf("read: %w", err)
	}
	return r, nil
}

// next waits for a message; patience 0 means for as long as ctx lasts.
func (r *reader) next(ctx context.Context, patience time.Duration) (message, error) {
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	m, err := r.messages.Next(jetstream.NextContext(ctx))
	if err != nil {
		return message{}, fmt.Errorf("read: %w", err)
	}
	meta, err := m.Metadata()
	if err != nil {
		return message{}, fmt.Errorf("read: %w", err)
	}
	if r.expected++; meta.Sequence.Consumer != r.expected {
		return message{}, fmt.Errorf("read: delivery %d came instead of %d", meta.Sequence.Consumer, r.expected)
	}
	return message{Msg: m, meta: meta}, nil
}

func (r *reader) close(ctx context.Context) {
	r.messages.Stop()
	r.remove(ctx)
}

// remove deletes the consumer; if that fails, the server deletes it after its inactivity threshold.
func (r *reader) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTimeout)
	defer cancel()
	if err := r.stream.DeleteConsumer(ctx, r.name); err != nil {
		return // it expires
	}
}
