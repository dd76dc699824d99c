package bus

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Config says how to reach the bus.
type Config struct {
	// URL is one NATS URL or several separated by commas.
	URL string
	// Name is the client's name, for example "superset-operator"; it must be a subject
	// token. Replies arrive under _INBOX_<name>.
	Name string
	// CredsFile is a NATS credentials file (JWT and key); it is read again on every reconnect.
	CredsFile string
	TLS       TLS
	Log       logr.Logger
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

// TLS names PEM files. All empty means that the URL's scheme decides.
type TLS struct {
	CAFile, CertFile, KeyFile string
}

// Conn is a connection that never gives up.
type Conn struct {
	cfg Config
	nc  *nats.Conn
	js  jetstream.JetStream
}

// Connect starts to connect and returns at once; the error is for a wrong [Config] only.
func Connect(cfg Config) (*Conn, error) { return nil, errors.ErrUnsupported }

// JetStream returns the JetStream context.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Connected says whether a server is connected right now.
func (c *Conn) Connected() bool { return c != nil && c.nc.IsConnected() }

// OnReconnect adds a function that runs, on a goroutine of its own, each time a
// server is reached: the first time too when it was absent at the start.
func (c *Conn) OnReconnect(f func()) {}

// Close drains the connection and closes it, at the latest when ctx ends.
func (c *Conn) Close(ctx context.Context) error { return nil }

// Publish sends one message and waits for the stream's acknowledgement. It is for
// callers that keep an outbox of their own; everyone else uses a [Publisher].
func (c *Conn) Publish(ctx context.Context, m Message, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return nil, errors.ErrUnsupported
}
