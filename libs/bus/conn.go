package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus/internal/metrics"
	"github.com/flotilla-dev/flotilla/libs/bus/internal/nkey"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// drainTimeout limits how long Close waits if its context has a later deadline or none.
const drainTimeout = 10 * time.Second

// deniedTTL is the time after a denial in which a publish without a reply counts as denied.
const deniedTTL = time.Minute

// maxDeniedLogged is the number of newly denied subjects in deniedTTL from which further ones are not logged, only counted:
// if a kind is denied, each of its objects has a subject.
const maxDeniedLogged = 20

// asyncTimeout is longer than callers wait for the acknowledgment of an asynchronous publish. Without it, those that are
// never acknowledged, such as denied ones, would be kept, and after 4,000 of them no other would be sent.
const asyncTimeout = 10 * time.Second

// Conn is a connection that reconnects without a limit.
type Conn struct {
	cfg     Config
	log     logr.Logger
	metrics *metrics.Metrics
	nc      *nats.Conn
	js      jetstream.JetStream
	closed  chan struct{} // closed with the connection
	// keyDialer is nil without an NKey.
	keyDialer *nkey.Dialer

	mu          sync.Mutex
	publishers  []*Publisher
	onReconnect []func()
	denied      map[string]time.Time // subjects that the server denied, and when
	pruned      time.Time            // when expired subjects were last removed from denied
	logged      int                  // denied subjects since then
}

// Connect starts to connect and returns at once, or after the dial timeout if the
// server's host does not answer at all. It returns an error for an invalid [Config] only;
// it retries an unavailable server without a limit.
func Connect(cfg Config) (*Conn, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	m, err := metrics.New(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register bus metrics: %w", err)
	}
	c := &Conn{cfg: cfg, log: cfg.Log, metrics: m, closed: make(chan struct{}), denied: map[string]time.Time{}}
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	if c.nc, err = nats.Connect(cfg.URL, opts...); err != nil {
		return nil, fmt.Errorf("create NATS connection: %w", err)
	}
	if c.keyDialer != nil {
		c.keyDialer.SetConn(c.nc)
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithPublishAsyncTimeout(asyncTimeout)); err != nil {
		c.nc.Close()
		return nil, fmt.Errorf("create JetStream context: %w", err)
	}
	if !c.nc.IsConnected() {
		c.log.Info("Failed to connect to NATS, retrying", "cause", cmp.Or(text(c.nc.LastError()), "no server answered"))
	}
	return c, nil
}

// JetStream returns the JetStream context.
func (c *Conn) JetStream() jetstream.JetStream { return c.js }

// Connected reports whether the connection to a server is up.
func (c *Conn) Connected() bool { return c != nil && c.nc.IsConnected() }

// OnReconnect adds a function that runs in its own goroutine at each connect and
// reconnect, including the first connect unless that was before the call.
func (c *Conn) OnReconnect(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onReconnect = append(c.onReconnect, f)
}

// unacknowledged counts the subjects with a message that no stream has confirmed yet, of
// all publishers on this connection.
func (c *Conn) unacknowledged() int {
	c.mu.Lock()
	publishers := slices.Clone(c.publishers)
	c.mu.Unlock()
	sum := 0
	for _, p := range publishers {
		sum += p.Depth()
	}
	return sum
}

// Close drains the connection and closes it, at the latest when ctx ends.
func (c *Conn) Close(ctx context.Context) error {
	if c == nil {
		return nil
	}
	err := c.nc.Drain()
	if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrConnectionReconnecting) {
		err = nil // nothing to drain; the client closes by itself
		c.nc.Close()
	}
	select {
	case <-c.closed:
	case <-ctx.Done():
		c.nc.Close()
		<-c.closed
	}
	if err != nil {
		return fmt.Errorf("drain NATS connection: %w", err)
	}
	return nil
}

func (c *Conn) handleConnected(nc *nats.Conn) {
	c.metrics.Connected.Set(1)
	c.log.Info("Connected to NATS", "server", nc.ConnectedUrlRedacted())
	c.mu.Lock()
	fs := append([]func(){}, c.onReconnect...)
	clear(c.denied)
	c.mu.Unlock()
	for _, f := range fs {
		go f()
	}
}

func (c *Conn) handleDisconnected(err error) {
	c.metrics.Connected.Set(0)
	if err != nil {
		c.log.Info("Disconnected from NATS, reconnecting", "cause", err.Error())
	}
}

// asyncError handles errors that the server sends outside of any request. Only here
// does the server report a denied publish; the publisher gets no reply.
func (c *Conn) asyncError(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		c.log.Info("Received a NATS error", "cause", text(err))
		return
	}
	subject := quoted(err.Error())
	c.metrics.Denied.Inc()
	if c.recordDenied(subject) {
		c.log.Error(err, "NATS permission violation", "subject", subject)
	}
}

// recordDenied records a denial, and reports whether to log it. It removes expired subjects, whose objects may no longer exist.
func (c *Conn) recordDenied(subject string) bool {
	now := c.cfg.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.pruned) > deniedTTL {
		maps.DeleteFunc(c.denied, func(_ string, at time.Time) bool { return now.Sub(at) > deniedTTL })
		c.pruned, c.logged = now, 0
	}
	_, known := c.denied[subject]
	c.denied[subject] = now
	if known || c.logged >= maxDeniedLogged {
		return false
	}
	c.logged++
	return true
}

// Denied reports whether the server recently denied this client the subject. Without it
// a denial looks like an outage, since a denied request gets no reply.
func (c *Conn) Denied(subject string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.denied[subject]
	if ok && c.cfg.Clock.Since(at) > deniedTTL {
		delete(c.denied, subject)
		return false
	}
	return ok
}

// quoted returns the first quoted part of a text: the subject in a permission violation.
func quoted(s string) string {
	_, remainder, _ := strings.Cut(s, `"`)
	subject, _, _ := strings.Cut(remainder, `"`)
	return subject
}

// lastEpoch returns the epoch of the newest observation that matches the filter, or 0
// when there is none.
func (c *Conn) lastEpoch(filter string) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), publishTimeout)
	defer cancel()
	stream, err := c.js.Stream(ctx, contract.StreamObservations)
	if err != nil {
		return 0, fmt.Errorf("get stream info: %w", err)
	}
	last, err := lastObservation(ctx, stream, filter)
	if err != nil || last.Sequence == 0 {
		return 0, err
	}
	_, obs, err := contract.Decode[contract.Observation](last.Data)
	if err != nil {
		c.log.Error(err, "Failed to decode the last observation", "filter", filter)
		return 0, nil
	}
	return obs.Epoch, nil
}

// lastObservation returns the newest message that matches the filter, or a zero value when
// there is none. An observer has no permission for a request that is less specific.
func lastObservation(ctx context.Context, stream jetstream.Stream, filter string) (jetstream.RawStreamMsg, error) {
	m, err := stream.GetLastMsgForSubject(ctx, filter)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return jetstream.RawStreamMsg{}, nil
	case err != nil:
		return jetstream.RawStreamMsg{}, fmt.Errorf("get last message: %w", err)
	}
	return *m, nil
}
