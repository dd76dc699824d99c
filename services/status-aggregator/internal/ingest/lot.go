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
	lotSize     = 256             // messages that wait to be parked
	parkTimeout = 2 * time.Second // for one of them
)

// Headers of a dead letter: where the message stood.
const (
	headerSubject  = "Flotilla-Subject"
	headerStream   = "Flotilla-Stream"
	headerSequence = "Flotilla-Sequence"
)

// lot parks poison messages in the background, so that they never hold up the reading.
type lot struct {
	bus     Bus
	metrics *metrics.Metrics
	queue   chan letter
}

type letter struct {
	stream, cause string
	delivery      bus.Delivery
}

func newLot(b Bus, m *metrics.Metrics) *lot {
	return &lot{bus: b, metrics: m, queue: make(chan letter, lotSize)}
}

// park takes a message, or counts it as lost when too many wait already.
func (l *lot) park(stream, cause string, d bus.Delivery) {
	select {
	case l.queue <- letter{stream, cause, d}:
	default:
		l.metrics.DeadLetters.WithLabelValues(cause, "false").Inc()
	}
}

func (l *lot) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-l.queue:
			err := l.publish(ctx, next)
			l.metrics.DeadLetters.WithLabelValues(next.cause, strconv.FormatBool(err == nil)).Inc()
			if err != nil {
				logr.FromContextOrDiscard(ctx).Info("Lost a dead letter", "stream", next.stream,
					"sequence", next.delivery.Sequence, "reason", err.Error())
			}
		}
	}
}

// publish parks one message as it came. Its id is its place, so reading a stream
// again parks nothing twice within the window of deduplication.
func (l *lot) publish(ctx context.Context, p letter) error {
	subject, err := contract.DeadLetterSubject(p.stream, p.cause)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, parkTimeout)
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
	l.metrics.Publishes.WithLabelValues("dlq", bus.Result(ack, err)).Inc()
	return err
}
