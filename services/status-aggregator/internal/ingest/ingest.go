package ingest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/silence"
)

// Bus is what reading needs of a connection; [bus.Conn] has it.
type Bus interface {
	JetStream() jetstream.JetStream
	Connected() bool
	OnReconnect(f func())
	Publish(ctx context.Context, m bus.Message, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error)
}

// Config says what to read and whom to tell.
type Config struct {
	Bus     Bus
	Cluster string
	Kinds   registry.Set
	Model   *model.Store
	Silence *silence.Tracker
	Clock   clock.WithTicker
	Metrics *metrics.Metrics
	// OnObject is called when something new was heard of an object.
	OnObject func(contract.Ref)
	// OnRestart is called when what was derived from the bus must be read anew.
	OnRestart func()
	// OnCaughtUp is called when both snapshots are complete.
	OnCaughtUp func()
}

// streams are read side by side; each has its place in Ingest.complete.
var streams = [...]string{contract.StreamObservations, contract.StreamHeartbeats}

// Ingest reads the bus. It runs on the leader only.
type Ingest struct {
	cfg Config
	lot *lot

	mu       sync.Mutex
	complete [len(streams)]bool
	places   map[string]uint64 // last heartbeat read, by observer
}

// New returns an Ingest that reads nothing before [Ingest.Start].
func New(cfg Config) *Ingest {
	i := &Ingest{cfg: cfg, places: map[string]uint64{}}
	i.lot = newLot(cfg.Bus, cfg.Metrics)
	cfg.Bus.OnReconnect(i.reconnected)
	return i
}

// Start reads until the context ends.
func (i *Ingest) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return i.lot.run(ctx) })
	group.Go(func() error { return i.watchLink(ctx) })
	for n, filter := range [...]string{contract.ObservationPrefix, contract.HeartbeatPrefix} {
		group.Go(func() error { return i.tail(ctx, n, filter) })
	}
	return group.Wait()
}

// CaughtUp says whether all that the streams hold has been read, and what they get is heard.
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
		OnSnapshot: func() { i.snapshot(ctx, n) },
		OnRestart:  func(recreated bool) { i.restart(ctx, n, recreated) },
		Log:        logr.FromContextOrDiscard(ctx),
	})
}

func (i *Ingest) onObservation(ctx context.Context, d bus.Delivery) {
	ref, o, err := observation(i.cfg.Kinds, i.cfg.Cluster, d.Subject, d.Data)
	if err != nil {
		i.refuse(ctx, contract.StreamObservations, d, err)
		return
	}
	now := i.cfg.Clock.Now()
	if !d.Snapshot {
		i.cfg.Silence.Hear(o.Observer.Name, o.Epoch, time.Duration(o.ValidForSeconds)*time.Second, now)
	}
	outcome := i.cfg.Model.Merge(ref, model.Heard{Observation: o, StreamSequence: d.Sequence, ReceivedAt: now, Live: !d.Snapshot})
	i.cfg.Metrics.Observations.WithLabelValues(string(outcome)).Inc()
	if outcome == model.Applied {
		i.cfg.OnObject(ref)
	}
}

func (i *Ingest) onHeartbeat(ctx context.Context, d bus.Delivery) {
	h, err := heartbeat(i.cfg.Cluster, d.Subject, d.Data)
	if err != nil {
		i.refuse(ctx, contract.StreamHeartbeats, d, err)
		return
	}
	i.mu.Lock()
	i.places[h.Observer.Name] = d.Sequence
	i.mu.Unlock()
	if !d.Snapshot {
		i.cfg.Silence.Hear(h.Observer.Name, h.Epoch, validity(h), i.cfg.Clock.Now())
	}
}

// refuse counts a message that is not believed, and parks it.
func (i *Ingest) refuse(ctx context.Context, stream string, d bus.Delivery, err error) {
	if errors.Is(err, errUnmanaged) {
		i.cfg.Metrics.Observations.WithLabelValues("unmanaged").Inc()
		return
	}
	i.cfg.Metrics.Observations.WithLabelValues("poison").Inc()
	var p *poison
	cause := causeMalformed
	if errors.As(err, &p) {
		cause = p.cause
	}
	logr.FromContextOrDiscard(ctx).Info("Refused message", "stream", stream, "sequence", d.Sequence,
		"cause", cause, "reason", err.Error())
	i.lot.park(stream, cause, d)
}

// Missed looks directly into the stream for a heartbeat that is newer than what was
// delivered. It is the [silence.Probe].
func (i *Ingest) Missed(ctx context.Context, observer string) (bool, error) {
	subject, err := contract.HeartbeatSubject(i.cfg.Cluster, observer)
	if err != nil {
		return false, err
	}
	stream, err := i.cfg.Bus.JetStream().Stream(ctx, contract.StreamHeartbeats)
	if err != nil {
		return false, err
	}
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(m.Data) > 0 && m.Sequence > i.places[observer], nil
}

func (i *Ingest) snapshot(ctx context.Context, n int) {
	i.mu.Lock()
	i.complete[n] = true
	done := i.caughtUpLocked()
	i.mu.Unlock()
	if !done {
		return
	}
	logr.FromContextOrDiscard(ctx).Info("Caught up with the bus", "objects", i.cfg.Model.Len())
	i.cfg.Silence.Listen(i.cfg.Clock.Now())
	i.cfg.OnCaughtUp()
}

func (i *Ingest) restart(ctx context.Context, n int, recreated bool) {
	i.mu.Lock()
	i.complete[n] = false
	if recreated {
		i.places = map[string]uint64{}
	}
	i.mu.Unlock()
	logr.FromContextOrDiscard(ctx).Info("Reads the stream anew", "stream", streams[n], "recreated", recreated)
	i.cfg.Silence.Deafen()
	i.cfg.Model.Retained()
	if recreated && streams[n] == contract.StreamObservations {
		i.cfg.Model.StreamRecreated()
	}
	i.cfg.OnRestart()
}

// reconnected makes what is known of the observers unsure: they may hold things back that we have not seen.
func (i *Ingest) reconnected() {
	i.cfg.Silence.Deafen()
	i.cfg.Model.Retained()
	i.cfg.OnRestart()
	i.mu.Lock()
	done := i.caughtUpLocked()
	i.mu.Unlock()
	if done {
		i.cfg.Silence.Listen(i.cfg.Clock.Now())
		i.cfg.OnCaughtUp()
	}
}

// watchLink makes the silence ours while the connection is down.
func (i *Ingest) watchLink(ctx context.Context) error {
	ticker := i.cfg.Clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if !i.cfg.Bus.Connected() {
				i.cfg.Silence.Deafen()
			}
		}
	}
}

func (i *Ingest) caughtUpLocked() bool {
	for _, c := range i.complete {
		if !c {
			return false
		}
	}
	return true
}
