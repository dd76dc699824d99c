package ingest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-logr/logr"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

const (
	deadLetterQueueSize = 256             // capacity of the queue, in messages
	deadLetterTimeout   = 2 * time.Second // for one message
)

// Headers of a dead letter: the origin of the message.
const (
	headerSubject  = "Flotilla-Subject"
	headerStream   = "Flotilla-Stream"
	headerSequence = "Flotilla-Sequence"
)

// deadLetterQueue publishes rejected messages as dead letters in the background, so that they never
// block reading.
type deadLetterQueue struct {
	bus     Bus
	metrics *metrics.Metrics
	queue   chan deadLetter
}

type deadLetter struct {
	stream, cause string
	delivery      bus.Delivery
}

func newDeadLetterQueue(b Bus, m *metrics.Metrics) *deadLetterQueue {
	for _, cause := range causes {
		for _, parked := range []string{"true", "false"} {
			m.DeadLetters.WithLabelValues(cause, parked) // begins at 0, so that the first increase is visible
		}
	}
	return &deadLetterQueue{bus: b, metrics: m, queue: make(chan deadLetter, deadLetterQueueSize)}
}

// enqueue enqueues a message, or counts it as lost when the queue is full.
func (l *deadLetterQueue) enqueue(stream, cause string, d bus.Delivery) {
	select {
	case l.queue <- deadLetter{stream, cause, d}:
	default:
		l.metrics.DeadLetters.WithLabelValues(cause, "false").Inc()
	}
}

func (l *deadLetterQueue) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-l.queue:
			err := l.publish(ctx, next)
			l.metrics.DeadLetters.WithLabelValues(next.cause, strconv.FormatBool(err == nil)).Inc()
			if err != nil {
				logr.FromContextOrDiscard(ctx).Info("Failed to publish dead letter", "stream", next.stream,
					"sequence", next.delivery.Sequence, "reason", err.Error())
			}
		}
	}
}

// publish publishes one message unchanged. Its id is its position in the stream, so that
// reading the stream again is deduplicated within the window.
func (l *deadLetterQueue) publish(ctx context.Context, p deadLetter) error {
	subject, err := contract.DeadLetterSubject(p.stream, p.cause)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deadLetterTimeout)
	defer cancel()
	sequence := strconv.FormatUint(p.delivery.Sequence, 10)
	ack, err := l.bus.Publish(ctx, bus.Message{
		Subject: subject,
		ID:      fmt.Sprintf("%s.%s.%d", p.stream, sequence, p.delivery.Time.UnixNano()),
		Body:    p.delivery.Data,
		Header: map[string][]string{
			headerSubject:  {p.delivery.Subject},
			headerStream:   {p.stream},
			headerSequence: {sequence},
		},
	})
	l.metrics.Publishes.WithLabelValues(metrics.StoreDeadLetters, bus.Result(ack, err)).Inc()
	return err
}
