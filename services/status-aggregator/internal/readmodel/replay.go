package readmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	apiTimeout = 5 * time.Second
	// stallTimeout is the maximum time until the next replayed message.
	stallTimeout = 5 * time.Second
	// inactiveThreshold is the time after which the server deletes a consumer that its reader could not delete.
	inactiveThreshold = time.Minute
	pullSize          = 500
	heartbeat         = 5 * time.Second // idle heartbeat of the consumer; two missed ones end a session
)

// span is an inclusive range of stream sequences. A since replaces from: the range starts with the first message that was
// stored at that time or later.
type span struct {
	filter   string
	from, to uint64
	since    time.Time
}

// replay reads a span of the stream with its own consumer, and stops at the first error of
// each. It skips invalid events, as the live subscription does.
func replay(ctx context.Context, stream jetstream.Stream, s span, each func(Event) error) error {
	if s.from > s.to {
		return nil
	}
	r, err := openReader(ctx, stream, s)
	if err != nil {
		return err
	}
	defer r.close(ctx)
	for remaining := r.pending; remaining > 0; {
		m, err := r.next(ctx, stallTimeout)
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
		remaining = m.meta.NumPending
	}
	return nil
}

// reader reads a stream in order, without acknowledging.
type reader struct {
	stream   jetstream.Stream
	name     string
	messages jetstream.MessagesContext
	pending  uint64 // messages in the stream when it was opened
	expected uint64
}

// openReader opens a reader at the start of s; it reads past the end.
func openReader(ctx context.Context, stream jetstream.Stream, s span) (*reader, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	cfg := jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(s.from, 1),
		AckPolicy: jetstream.AckNonePolicy, FilterSubject: s.filter,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: inactiveThreshold,
	}
	if !s.since.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartSeq, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, 0, &s.since
	}
	consumer, err := stream.CreateConsumer(ctx, cfg)
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

// next waits for a message; a timeout of 0 waits until ctx ends.
func (r *reader) next(ctx context.Context, timeout time.Duration) (message, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
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
