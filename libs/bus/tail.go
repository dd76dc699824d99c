package bus

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"
)

// TailConfig says what to read.
type TailConfig struct {
	Stream  string
	Filters []string // subjects with wildcards; none means all
	// OnMessage gets each message, in stream order, never two at once.
	OnMessage func(Delivery)
	// OnSnapshot runs when the last message of every subject has been delivered. It
	// runs again after each restart, which delivers all of them again.
	OnSnapshot func()
	// OnRestart, if set, runs before deliveries begin anew. recreated is true when the
	// stream is not the one read before: sequences start over.
	OnRestart func(recreated bool)
	Log       logr.Logger
}

// Delivery is one message read.
type Delivery struct {
	Subject  string
	Header   map[string][]string
	Data     []byte
	Sequence uint64
	Time     time.Time // when the stream stored it
	// Deleted is true for a marker that the server left in place of an expired or
	// removed message; Data is empty then and Reason says why (MaxAge, Purge, Remove).
	Deleted bool
	Reason  string
	// Snapshot is true until OnSnapshot.
	Snapshot bool
}

// Tail delivers the last message of each subject, then follows the stream, until ctx ends.
func Tail(ctx context.Context, js jetstream.JetStream, cfg TailConfig) error { return errors.ErrUnsupported }
