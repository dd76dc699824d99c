package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// MaxMessageBytes is the largest message on the bus, the smallest size that every CloudEvents intermediary forwards.
const MaxMessageBytes = 64 * 1024

// ContentType is the Content-Type header of every message.
const ContentType = "application/cloudevents+json"

// Names of headers that a message carries in addition to the envelope.
const (
	HeaderContentType = "Content-Type"
	HeaderMsgID       = "Nats-Msg-Id" // equals the event's id
	HeaderTraceParent = "traceparent" // W3C trace context
	HeaderTraceState  = "tracestate"
)

// Event types. The version is the major version of the payload.
const (
	TypeObservation = "dev.flotilla.observation.v1"
	TypeHeartbeat   = "dev.flotilla.heartbeat.v1"
	TypeLifecycle   = "dev.flotilla.lifecycle.v1"
	TypeChange      = "dev.flotilla.change.v1"
)

// Errors of [Encode] and [Decode].
var (
	ErrTooLarge        = errors.New("message larger than 64 KiB")
	ErrUnsupportedType = errors.New("unsupported event type")
	ErrMalformed       = errors.New("malformed event")
)

// Event is a CloudEvents 1.0 envelope in structured JSON mode.
type Event struct {
	SpecVersion     string          `json:"specversion"` // always "1.0"
	ID              string          `json:"id"`          // unique; equals the Nats-Msg-Id header
	Source          string          `json:"source"`      // /clusters/<cluster>/observers/<observer>
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"` // <namespace>/<name>
	Time            time.Time       `json:"time"`              // when it happened, UTC
	DataContentType string          `json:"datacontenttype"`   // always "application/json"
	DataSchema      string          `json:"dataschema,omitempty"`
	Sequence        string          `json:"sequence,omitempty"` // orders the events of one source and subject, compared as text
	Data            json.RawMessage `json:"data"`
}

// Payload is the type set of the data of an [Event].
type Payload interface {
	Observation | Heartbeat | Lifecycle | Change
}

// Encode fills the fixed attributes, puts data into the envelope and returns the message.
// It returns [ErrTooLarge] for a message over [MaxMessageBytes] and [ErrMalformed]
// for an envelope that lacks id, source or time.
func Encode[P Payload](e Event, data P) ([]byte, error) {
	if e.ID == "" || e.Source == "" || e.Time.IsZero() {
		return nil, fmt.Errorf("%w: id, source and time are required", ErrMalformed)
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode data of event %q: %w", e.ID, err)
	}
	e.SpecVersion = "1.0"
	e.Type = typeOf(data)
	e.DataContentType = "application/json"
	e.DataSchema = schemaBase + schemaFile(e.Type)
	e.Time = e.Time.UTC()
	e.Data = raw
	out, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %q: %w", e.ID, err)
	}
	if len(out) > MaxMessageBytes {
		return nil, fmt.Errorf("%w: event %q has %d bytes", ErrTooLarge, e.ID, len(out))
	}
	return out, nil
}

// Decode reads a message of the given payload type and ignores unknown fields. It returns
// [ErrUnsupportedType] for another type or major version, and [ErrMalformed] for a message
// that is not an event.
func Decode[P Payload](message []byte) (Event, P, error) {
	var data P
	e, err := DecodeEnvelope(message)
	if err != nil {
		return e, data, err
	}
	if want := typeOf(data); e.Type != want {
		return e, data, fmt.Errorf("%w: %q, want %q", ErrUnsupportedType, e.Type, want)
	}
	if len(e.Data) == 0 || string(e.Data) == "null" {
		return e, data, fmt.Errorf("%w: event %q has no data", ErrMalformed, e.ID)
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return e, data, fmt.Errorf("%w: data of event %q: %w", ErrMalformed, e.ID, err)
	}
	return e, data, nil
}

// DecodeEnvelope reads the envelope only and leaves Data encoded.
func DecodeEnvelope(message []byte) (Event, error) {
	var e Event
	if len(message) > MaxMessageBytes {
		return e, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(message))
	}
	if err := json.Unmarshal(message, &e); err != nil {
		return e, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if !strings.HasPrefix(e.SpecVersion, "1.") {
		return e, fmt.Errorf("%w: specversion %q", ErrMalformed, e.SpecVersion)
	}
	if e.ID == "" || e.Source == "" || e.Type == "" {
		return e, fmt.Errorf("%w: id, source and type are required", ErrMalformed)
	}
	return e, nil
}

// Source returns the source attribute of an observer's events.
func Source(cluster, observer string) string {
	return "/clusters/" + cluster + "/observers/" + observer
}

// Sequence returns the sequence attribute of (epoch, seq): text that sorts as the pair does.
func Sequence(epoch int64, seq uint64) string {
	return fmt.Sprintf("%014d-%016d", epoch, seq)
}

func typeOf[P Payload](data P) string {
	switch any(data).(type) {
	case Observation:
		return TypeObservation
	case Heartbeat:
		return TypeHeartbeat
	case Lifecycle:
		return TypeLifecycle
	default:
		return TypeChange
	}
}
