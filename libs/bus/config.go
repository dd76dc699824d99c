package bus

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Config configures the connection to the bus.
type Config struct {
	// URL is one NATS URL or several separated by commas.
	URL string
	// Name is the client's name, for example "superset-operator"; it must be a subject
	// token. Replies arrive under _INBOX_<name>, so that no other client can read them.
	Name string
	// CredsFile is a NATS credentials file (JWT and key); it is read again on every reconnect.
	CredsFile string
	// NKeyFile holds the seed of a user's NKey; it is read again on every reconnect, and
	// may then hold another user's. It excludes CredsFile.
	NKeyFile string
	TLS      TLS
	Log      logr.Logger
	// Registerer takes the metrics; nil keeps them private.
	Registerer prometheus.Registerer
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

// TLS names PEM files, read again on every reconnect. All empty means that the
// URL's scheme decides. There is no way to skip verification.
type TLS struct {
	CAFile, CertFile, KeyFile string
}

// Settings of a connection. The client's defaults stop reconnecting after two minutes of
// outage, detect a half-open connection only after minutes, and send messages that were
// published during an outage long after their publisher got an error.
const (
	dialTimeout     = 2 * time.Second
	reconnectWait   = time.Second
	reconnectJitter = 500 * time.Millisecond
	pingInterval    = 10 * time.Second
	maxPingsOut     = 2
	unlimited       = -1
	noBuffer        = -1
)

// check completes the configuration and rejects an invalid one.
func (cfg *Config) check() error {
	if cfg.URL == "" {
		return errors.New("bus URL is required")
	}
	if _, err := contract.EncodeToken(cfg.Name); err != nil {
		return fmt.Errorf("encode NATS client name: %w", err)
	}
	if err := cfg.Check(); err != nil {
		return err
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Log.GetSink() == nil {
		cfg.Log = logr.Discard()
	}
	return nil
}

// options translates the configuration for the client.
func (c *Conn) options() ([]nats.Option, error) {
	token, err := contract.EncodeToken(c.cfg.Name)
	if err != nil {
		return nil, fmt.Errorf("encode NATS client name: %w", err)
	}
	opts := []nats.Option{
		nats.Name(c.cfg.Name),
		nats.CustomInboxPrefix("_INBOX_" + token),
		nats.Timeout(dialTimeout),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(), // credentials may be rotated while we try
		nats.MaxReconnects(unlimited),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectJitter, reconnectJitter),
		nats.ReconnectBufSize(noBuffer),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPingsOut),
		nats.DrainTimeout(drainTimeout),
		nats.ConnectHandler(c.handleConnected),
		nats.ReconnectHandler(func(nc *nats.Conn) { c.metrics.reconnects.Inc(); c.handleConnected(nc) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { c.handleDisconnected(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.log.V(1).Info("Failed to connect to NATS", "cause", text(err)) }),
		nats.LameDuckModeHandler(func(*nats.Conn) { c.log.Info("NATS server is shutting down") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.asyncError(err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	credentials, err := c.credentials()
	return append(opts, credentials...), err
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
