package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/utils/clock"
)

// TailConfig configures what [Tail] reads.
type TailConfig struct {
	Stream  string
	Filters []string // subjects with wildcards; none means all
	// OnMessage gets each message, in stream order, never two at once.
	OnMessage func(Delivery)
	// OnSnapshot runs when the last message of every subject has been delivered. It
	// runs again after each restart, which delivers all of them again.
	OnSnapshot func()
	// OnInterrupt, if set, runs when deliveries end, and again after each failed attempt to restart them, for example
	// while the stream is missing. Messages may be missed from then until OnSnapshot.
	OnInterrupt func()
	// OnRestart, if set, runs before deliveries restart. recreated is true when the
	// stream was re-created: sequences restart, and subjects that are missing in the
	// next snapshot no longer exist.
	OnRestart func(recreated bool)
	// Restart, if set, ends deliveries when it receives, and restarts them as after an interruption: the reader found that
	// messages in the stream are not delivered. A buffer of one lets the reader send without blocking.
	Restart <-chan struct{}
	Log     logr.Logger
	// Clock is the real one when nil.
	Clock clock.WithTicker
}

// Delivery is one message read.
type Delivery struct {
	Subject  string
	Header   map[string][]string
	Data     []byte
	Sequence uint64
	Time     time.Time // when the stream stored it
	// Deleted is true for a marker that the server left in place of an expired or
	// removed message; Data is empty then. Streams of earlier releases have them.
	Deleted bool
	// Snapshot is true until OnSnapshot.
	Snapshot bool
}

const (
	headerMarkerReason = "Nats-Marker-Reason"

	tailHeartbeat  = 5 * time.Second // two missed ones end a session
	tailPull       = 2000
	tailAPITimeout = 5 * time.Second
	tailStall      = 2 * tailHeartbeat // without a delivery, ends a session before its snapshot is complete
	// The server deletes a consumer without pulls: its reader crashed or failed to delete it.
	tailInactiveThreshold = time.Minute
)

var (
	errReconnected = errors.New("connection was re-established")
	errSkipped     = errors.New("consumer skipped a delivery")
	errRestart     = errors.New("reader requested a restart")
	errStalled     = errors.New("snapshot is incomplete and nothing was delivered")
)

// Tail delivers the last message of each subject, then new messages, until ctx ends;
// then it returns nil. It returns an error for an invalid configuration only.
//
// Whenever it may have missed a message (the connection was lost, the consumer or its
// heartbeats are missing, a delivery was skipped, the stream was re-created), if Restart
// receives, or if the rest of a snapshot was removed before its delivery, it restarts with a new snapshot,
// after a backoff. Readers merge monotonically, so a repeated message changes nothing,
// and a snapshot of ten thousand subjects costs tens of milliseconds.
func Tail(ctx context.Context, js jetstream.JetStream, cfg TailConfig) error {
	if cfg.Stream == "" || cfg.OnMessage == nil {
		return errors.New("tail: Stream and OnMessage are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Log.GetSink() == nil {
		cfg.Log = logr.Discard()
	}
	t := &tail{cfg: cfg, js: js, log: cfg.Log.WithValues("stream", cfg.Stream)}
	for ctx.Err() == nil {
		t.retry(ctx, t.session(ctx))
	}
	return nil
}

// tail is the state that outlives a session.
type tail struct {
	cfg      TailConfig
	js       jetstream.JetStream
	log      logr.Logger
	created  time.Time // of the stream read before
	last     uint64    // sequence of the last delivery
	started  bool      // a session has delivered before
	failures int
}

// retry prepares another session after one that ended with err.
func (t *tail) retry(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	t.log.V(1).Info("Session ended, restarting", "cause", text(err))
	if t.cfg.OnInterrupt != nil {
		t.cfg.OnInterrupt()
	}
	if !errors.Is(err, errReconnected) {
		t.pause(ctx)
	}
}

// pause waits for the end of the backoff, or for a reconnect.
func (t *tail) pause(ctx context.Context) {
	t.failures++
	reached := t.js.Conn().StatusChanged(nats.CONNECTED)
	defer t.js.Conn().RemoveStatusListener(reached)
	timer := t.cfg.Clock.NewTimer(backoff(t.failures))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-reached:
	}
}

// session reads from one consumer until it fails.
func (t *tail) session(ctx context.Context) error {
	// Subscribe before the first request, so that no reconnect goes unnoticed.
	reached := t.js.Conn().StatusChanged(nats.CONNECTED)
	defer t.js.Conn().RemoveStatusListener(reached)

	consumer, err := t.consumer(ctx)
	if err != nil {
		return err
	}
	defer t.discard(ctx, consumer.CachedInfo().Name)
	select {
	case <-t.cfg.Restart: // an earlier request: this session satisfies it
	default:
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(tailPull), jetstream.PullHeartbeat(tailHeartbeat))
	if err != nil {
		return fmt.Errorf("read from %q: %w", t.cfg.Stream, err)
	}
	defer messages.Stop()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := t.cfg.Clock.NewTimer(tailStall)
	defer stall.Stop()
	go func() {
		select {
		case <-ctx.Done():
		case <-reached:
			cancel(errReconnected)
		case <-t.cfg.Restart:
			cancel(errRestart)
		case <-stall.C():
			cancel(errStalled)
		}
	}()
	return t.read(ctx, messages, consumer.CachedInfo().NumPending, stall)
}

// consumer creates an ephemeral consumer that starts with the last message of each subject.
func (t *tail) consumer(ctx context.Context) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, tailAPITimeout)
	defer cancel()
	stream, err := t.js.Stream(ctx, t.cfg.Stream)
	if err != nil {
		return nil, fmt.Errorf("get stream info %q: %w", t.cfg.Stream, err)
	}
	info := stream.CachedInfo()
	filters := t.cfg.Filters
	if len(filters) == 0 {
		filters = info.Config.Subjects
	}
	cfg := jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverLastPerSubjectPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: tailInactiveThreshold,
	}
	if len(filters) == 1 {
		cfg.FilterSubject = filters[0] // part of the request's subject, where permissions apply to it
	} else {
		cfg.FilterSubjects = filters
	}
	consumer, err := stream.CreateConsumer(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("create consumer on %q: %w", t.cfg.Stream, err)
	}
	t.restart(info)
	return consumer, nil
}

// restart notifies the reader that deliveries restart.
func (t *tail) restart(info *jetstream.StreamInfo) {
	recreated := t.started && (!t.created.Equal(info.Created) || info.State.LastSeq < t.last)
	if recreated {
		t.log.Info("Stream was reset")
	}
	if t.started && t.cfg.OnRestart != nil {
		t.cfg.OnRestart(recreated)
	}
	t.created, t.last, t.started = info.Created, 0, true
}

// read delivers until an error; pending is how many messages the snapshot has. Only deliveries tell
// how many remain, so read resets stall after each until the snapshot is complete.
func (t *tail) read(ctx context.Context, messages jetstream.MessagesContext, pending uint64, stall clock.Timer) error {
	snapshot := true
	complete := func() {
		snapshot = false
		stall.Stop()
		t.failures = 0
		if t.cfg.OnSnapshot != nil {
			t.cfg.OnSnapshot()
		}
	}
	if pending == 0 {
		complete()
	}
	var expected uint64
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("read from %q: %w", t.cfg.Stream, errors.Join(context.Cause(ctx), err))
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read from %q: %w", t.cfg.Stream, err)
		}
		if expected++; meta.Sequence.Consumer != expected {
			return fmt.Errorf("read from %q: %w: %d instead of %d", t.cfg.Stream, errSkipped, meta.Sequence.Consumer, expected)
		}
		t.last = meta.Sequence.Stream
		t.cfg.OnMessage(delivery(m, meta, snapshot))
		switch {
		case snapshot && meta.NumPending == 0:
			complete()
		case snapshot:
			stall.Reset(tailStall)
		}
	}
}

func delivery(m jetstream.Msg, meta *jetstream.MsgMetadata, snapshot bool) Delivery {
	d := Delivery{
		Subject:  m.Subject(),
		Header:   m.Headers(),
		Data:     m.Data(),
		Sequence: meta.Sequence.Stream,
		Time:     meta.Timestamp,
		Snapshot: snapshot,
	}
	if m.Headers().Get(headerMarkerReason) != "" {
		d.Deleted, d.Data = true, nil
	}
	return d
}

// discard deletes the consumer, so that reconnects do not leak consumers; if that fails,
// the server deletes it after [tailInactiveThreshold].
func (t *tail) discard(ctx context.Context, name string) {
	if !t.js.Conn().IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if err := t.js.DeleteConsumer(ctx, t.cfg.Stream, name); err != nil {
		t.log.V(1).Info("Failed to delete consumer, it expires", "consumer", name, "cause", err.Error())
	}
}
