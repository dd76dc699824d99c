package subscriber

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Access is the address of the bus and the credentials of one identity.
type Access struct {
	URL            string
	User, Password string
	Authority      []byte // PEM; empty only for a server without TLS
}

// connect connects to the bus, and reconnects without a limit, since an outage may be long. It detects a lost server after
// about 10 s.
func (a Access) connect() (jetstream.JetStream, func(), error) {
	options := []nats.Option{
		nats.Name("outside-" + a.User),
		nats.UserInfo(a.User, a.Password),
		nats.CustomInboxPrefix("_INBOX_" + a.User),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(500 * time.Millisecond),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(1),
		// Calls return their errors; the default handler would also print them.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if len(a.Authority) > 0 {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(a.Authority) {
			return nil, nil, errors.New("the CA of the bus is not a PEM certificate")
		}
		options = append(options, nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}))
	}
	nc, err := nats.Connect(a.URL, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the bus: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("set up JetStream: %w", err)
	}
	return js, nc.Close, nil
}

// ErrNoStream is returned if the bus responds and has no stream of lifecycle events.
var ErrNoStream = jetstream.ErrStreamNotFound

// Stored returns all lifecycle events of a namespace that the stream holds, oldest first. The identity needs permission to
// read the events of the cluster.
func Stored(ctx context.Context, a Access, cluster, namespace string) (_ []Event, err error) {
	js, end, err := a.connect()
	if err != nil {
		return nil, err
	}
	defer end()
	stream, err := js.Stream(ctx, contract.StreamLifecycle)
	if err != nil {
		return nil, fmt.Errorf("get stream %s: %w", contract.StreamLifecycle, err)
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{contract.LifecyclePrefix + "." + cluster + "." + namespace + ".>"},
		DeliverPolicy:  jetstream.DeliverAllPolicy,
	})
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", contract.StreamLifecycle, err)
	}
	var out []Event
	if consumer.CachedInfo().NumPending == 0 {
		return nil, nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", contract.StreamLifecycle, err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, fmt.Errorf("read stream %s: %w", contract.StreamLifecycle, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("read event metadata: %w", err)
		}
		envelope, data, err := contract.Decode[contract.Lifecycle](m.Data())
		if err != nil {
			return nil, fmt.Errorf("event %d of the stream: %w", meta.Sequence.Stream, err)
		}
		out = append(out, Event{envelope.ID, meta.Sequence.Stream, data, envelope.Sequence})
		if meta.NumPending == 0 {
			return out, nil
		}
	}
}
