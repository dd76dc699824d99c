package ingest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/telemetry"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Bus is the part of [bus.Conn] that reading uses.
type Bus interface {
	JetStream() jetstream.JetStream
	Connected() bool
	OnReconnect(f func())
	Publish(ctx context.Context, m bus.Message, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error)
	Denied(subject string) bool
}

// Config selects the data to read and sets the callbacks.
type Config struct {
	Bus     Bus
	Cluster string
	// Namespaces are those whose observations are read; empty means all.
	Namespaces []string
	Kinds      registry.Set
	Model      *model.Store
	Liveness   *liveness.Tracker
	Clock      clock.WithTicker
	Metrics    *metrics.Metrics
	// OnObject is called when a newer observation of an object has been received.
	OnObject func(contract.Ref)
	// OnRestart is called when state derived from the bus must be read again.
	OnRestart func()
	// OnCaughtUp is called when both snapshots are complete.
	OnCaughtUp func()
}

// streams are read concurrently; the index is that of Ingest.complete.
var streams = [...]string{contract.StreamObservations, contract.StreamHeartbeats}

// Ingest reads the bus. It runs on the leader only.
type Ingest struct {
	cfg         Config
	deadLetters *deadLetterQueue
	tombstones  *tombstonePurger

	mu             sync.Mutex
	complete       [len(streams)]bool
	lastHeartbeats map[string]uint64 // last heartbeat read, by observer
	delivered      uint64            // last delivered heartbeat, also if it was rejected
	undelivered    map[string]int    // probes in a row that found a heartbeat that was not delivered, by observer

	restarts [len(streams)]chan struct{} // of the readers
}

// New returns an Ingest that reads nothing before [Ingest.Start].
func New(cfg Config) *Ingest {
	i := &Ingest{cfg: cfg, lastHeartbeats: map[string]uint64{}, undelivered: map[string]int{}}
	for n := range i.restarts {
		i.restarts[n] = make(chan struct{}, 1)
	}
	i.deadLetters = newDeadLetterQueue(cfg.Bus, cfg.Metrics)
	i.tombstones = newTombstonePurger(cfg.Bus, cfg.Metrics, cfg.Model.IsCurrent)
	cfg.Bus.OnReconnect(i.reconnected)
	return i
}

// Start reads until the context ends.
func (i *Ingest) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return i.deadLetters.run(ctx) })
	group.Go(func() error { return i.tombstones.run(ctx) })
	group.Go(func() error { return i.watchLink(ctx) })
	for n, filter := range [...]string{contract.ObservationPrefix, contract.HeartbeatPrefix} {
		group.Go(func() error { return i.tail(ctx, n, filter) })
	}
	return group.Wait()
}

// PurgeTombstone purges the observations of a deleted object from the stream in the background. A
// tombstone of the operator expires by itself, but an operator that was removed before it
// published one leaves its last observation forever. upTo is the position of the newest observation received before the
// object was not found. Later observations, which may belong to a successor, stay. A purge that fails is repeated. done is
// called after the purge, and also if the permission for it is missing. It is not called if the stream was re-created.
func (i *Ingest) PurgeTombstone(ref contract.Ref, upTo model.Position, done func()) error {
	kind, ok := i.cfg.Kinds.Lookup(ref.Kind)
	if !ok || upTo.Sequence == 0 {
		return nil
	}
	subject, err := contract.ObservationSubject(ref, kind.Observer)
	if err != nil {
		return err
	}
	i.tombstones.enqueue(subject, upTo, done)
	return nil
}

// Serves reports whether objects of a namespace are served.
func (i *Ingest) Serves(namespace string) bool {
	return len(i.cfg.Namespaces) == 0 || slices.Contains(i.cfg.Namespaces, namespace)
}

// CaughtUp reports whether both snapshots are complete and the bus is connected.
func (i *Ingest) CaughtUp() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.caughtUpLocked() && i.cfg.Bus.Connected()
}

func (i *Ingest) tail(ctx context.Context, n int, prefix string) error {
	token, err := contract.EncodeToken(i.cfg.Cluster)
	if err != nil {
		return err
	}
	onMessage := i.onObservation
	if streams[n] == contract.StreamHeartbeats {
		onMessage = i.onHeartbeat
	}
	return bus.Tail(ctx, i.cfg.Bus.JetStream(), bus.TailConfig{
		Stream:  streams[n],
		Filters: []string{prefix + "." + token + ".>"},
		OnMessage: func(d bus.Delivery) {
			if !d.Snapshot {
				i.cfg.Metrics.Lag.WithLabelValues(streams[n]).Set(max(i.cfg.Clock.Since(d.Time).Seconds(), 0))
			}
			if !d.Deleted {
				onMessage(ctx, d)
			}
		},
		OnSnapshot:  func() { i.snapshot(ctx, n) },
		OnInterrupt: func() { i.interrupt(ctx, n) },
		OnRestart:   func(recreated bool) { i.restart(ctx, n, recreated) },
		Restart:     i.restarts[n],
		Log:         logr.FromContextOrDiscard(ctx),
	})
}

func (i *Ingest) onObservation(ctx context.Context, d bus.Delivery) {
	ctx, span := receive(ctx, d)
	defer span.End()
	ref, o, err := observation(i.cfg.Kinds, i.cfg.Cluster, d.Subject, d.Data)
	if err != nil {
		i.reject(ctx, contract.StreamObservations, d, err)
		return
	}
	// Not a filter of the consumer: the permissions of the bus allow one filter, that of the cluster.
	if !i.Serves(ref.Namespace) {
		i.cfg.Metrics.Observations.WithLabelValues("unwatched").Inc()
		return
	}
	now := i.cfg.Clock.Now()
	outcome := i.cfg.Model.Merge(ref, model.Received{
		Observation: o, StreamSequence: d.Sequence, StoredAt: d.Time, ReceivedAt: now, Live: !d.Snapshot,
		Cause: span.SpanContext(),
	})
	if span.IsRecording() {
		span.SetAttributes(telemetry.AttrOutcome.String(string(outcome)))
	}
	i.cfg.Metrics.Observations.WithLabelValues(string(outcome)).Inc()
	if outcome != model.Applied {
		return // a replayed message does not count as a heartbeat
	}
	if !d.Snapshot {
		i.recordSeen(o.Observer.Name, o.Epoch, time.Duration(o.ValidForSeconds)*time.Second, now)
	}
	i.cfg.OnObject(ref)
}

// receive starts the span of a live message. A retained message was received before, so
// only its trace context is extracted.
func receive(ctx context.Context, d bus.Delivery) (context.Context, trace.Span) {
	if !d.Snapshot {
		return bus.StartReceive(ctx, d)
	}
	ctx = telemetry.ExtractHeaders(ctx, d.Header)
	return ctx, trace.SpanFromContext(ctx)
}

func (i *Ingest) onHeartbeat(ctx context.Context, d bus.Delivery) {
	i.recordDelivered(d.Sequence)
	h, err := heartbeat(i.cfg.Cluster, d.Subject, d.Data)
	if err != nil {
		i.reject(ctx, contract.StreamHeartbeats, d, err)
		return
	}
	i.mu.Lock()
	i.lastHeartbeats[h.Observer.Name] = d.Sequence
	i.mu.Unlock()
	if !d.Snapshot {
		now := i.cfg.Clock.Now()
		i.recordSeen(h.Observer.Name, h.Epoch, validity(h), now)
		if n, ok := bus.Unacknowledged(h, d.Header); ok && n > 0 {
			i.cfg.Liveness.RecordPending(h.Observer.Name, now)
		}
	}
}

// recordSeen records when an observer of a managed kind was last seen.
func (i *Ingest) recordSeen(observer string, epoch int64, validity time.Duration, now time.Time) {
	if len(i.cfg.Kinds.ObservedBy(observer)) == 0 {
		return
	}
	i.cfg.Liveness.RecordSeen(observer, epoch, validity, now)
	i.cfg.Metrics.LastSeen.WithLabelValues(observer).Set(float64(now.UnixMilli()) / 1000)
}

// reject counts an invalid message and enqueues it as a dead letter.
func (i *Ingest) reject(ctx context.Context, stream string, d bus.Delivery, err error) {
	i.cfg.Metrics.Observations.WithLabelValues("poison").Inc()
	cause := causeMalformed
	if p, ok := errors.AsType[*rejection](err); ok {
		cause = p.cause
	}
	logr.FromContextOrDiscard(ctx).Info("Rejected message", "stream", stream, "sequence", d.Sequence,
		"cause", cause, "reason", err.Error())
	i.deadLetters.enqueue(stream, cause, d)
}
