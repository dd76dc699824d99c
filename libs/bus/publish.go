package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Message is a message to publish.
type Message struct {
	Subject string
	ID      string // Nats-Msg-Id; equals the id of the event in Body
	Body    []byte
	Header  map[string][]string // in addition to Content-Type and Nats-Msg-Id, which Publish sets

	acked func(sequence uint64) // runs in the sender once the stream has it
	cause trace.SpanContext     // the span that caused the message; zero: unknown
}

// ErrDenied means that the server denies this client the subject.
var ErrDenied = errors.New("no permission to publish on the subject")

// publishTimeout is the timeout of an acknowledgment.
const publishTimeout = 2 * time.Second

// Outcomes of a publish, as label values of the metric.
const (
	outcomeAcked        = "acked"
	outcomeDuplicate    = "duplicate"    // the stream had it already
	outcomeDisconnected = "disconnected" // not sent
	outcomeNoStream     = "no_stream"    // no stream has the subject
	outcomeTimeout      = "timeout"      // may or may not be stored
	outcomeDenied       = "denied"       // no permission for the subject
	outcomeConflict     = "conflict"     // the caller expected another last sequence
	outcomeRejected     = "rejected"     // the stream rejected it, for example because it is full
	outcomeInvalid      = "invalid"      // too large, or cannot be built; not retried
)

// Publish sends one message and waits for the stream's acknowledgment, for two
// seconds unless ctx has a deadline. It is for callers with an outbox of their
// own; all others use a [Publisher]. See [StartPublish] for the trace.
//
// After an error the message may or may not be stored; sending it again with the
// same ID is safe within the stream's deduplication window.
func (c *Conn) Publish(ctx context.Context, m Message, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, publishTimeout)
		defer cancel()
	}
	if m.cause.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, m.cause)
	}
	msg := natsMsg(m)
	ctx, span := StartPublish(ctx, msg)
	ack, err := c.js.PublishMsg(ctx, msg, opts...)
	outcome := c.outcomeOf(m.Subject, ack, err)
	EndPublish(span, outcome, err)
	c.metrics.Published.WithLabelValues(outcome).Inc()
	switch {
	case err == nil:
		return ack, nil
	case outcome == outcomeDenied:
		return nil, fmt.Errorf("publish %q: %w", m.Subject, ErrDenied)
	default:
		return nil, fmt.Errorf("publish %q: %w", m.Subject, err)
	}
}

// natsMsg adds the headers that every message has.
func natsMsg(m Message) *nats.Msg {
	header := make(nats.Header, len(m.Header)+4) // with room for the trace headers
	maps.Copy(header, m.Header)
	header[contract.HeaderContentType] = []string{contract.ContentType}
	if m.ID != "" {
		header[contract.HeaderMsgID] = []string{m.ID}
	}
	return &nats.Msg{Subject: m.Subject, Header: header, Data: m.Body}
}

// Result names the outcome of a write, for a metric: stored, duplicate, conflict
// (another writer was first), denied, or failed for all other errors.
func Result(ack *jetstream.PubAck, err error) string {
	switch {
	case err == nil && ack != nil && ack.Duplicate:
		return "duplicate"
	case err == nil:
		return "stored"
	case IsConflict(err):
		return "conflict"
	case errors.Is(err, ErrDenied):
		return "denied"
	default:
		return "failed"
	}
}

// IsConflict reports whether the server rejected the expected last sequence: another writer was first. A replicated stream
// has an error code of its own for it.
func IsConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

func (c *Conn) outcomeOf(subject string, ack *jetstream.PubAck, err error) string {
	var api *jetstream.APIError
	switch {
	case err == nil && ack.Duplicate:
		return outcomeDuplicate
	case err == nil:
		return outcomeAcked
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum),
		errors.Is(err, nats.ErrBadSubject), errors.Is(err, nats.ErrBadHeaderMsg):
		return outcomeInvalid
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return outcomeNoStream
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed),
		errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrDisconnected):
		return outcomeDisconnected
	case IsConflict(err):
		return outcomeConflict
	case errors.As(err, &api):
		return outcomeRejected
	case c.Denied(subject):
		return outcomeDenied
	default:
		return outcomeTimeout
	}
}
