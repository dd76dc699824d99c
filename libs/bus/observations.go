package bus

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/bus/internal/epoch"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// TombstoneTTL is the TTL of the tombstone of a deleted object, on the bus and while it waits to be published. Readers detect
// deletions without a tombstone by comparing with the cluster: they may have been down for longer.
const TombstoneTTL = time.Hour

// tombstonePruneEvery is the minimum interval between searches for expired tombstones.
const tombstonePruneEvery = time.Minute

const headerTTL = "Nats-TTL"

// ObservationPublisher publishes the observations of one observer: the newest one of each
// object, with a version that only grows. It keeps the last offer of each object,
// so it drops repetitions, and offers all observations again by itself after a stream
// reset. A nil *ObservationPublisher means "no bus": its methods do nothing.
type ObservationPublisher struct {
	p        *Publisher
	cluster  string
	observer contract.Observer
	epoch    *epoch.Epoch

	mu      sync.Mutex
	objects map[string]*observed // by subject
	pruned  time.Time            // when expired tombstones were last removed
}

// observed is the observation of one object that was last offered.
type observed struct {
	observation contract.Observation
	deleted     bool
	deletedAt   time.Time         // of the tombstone
	cause       trace.SpanContext // of the newest offer
	seq         uint64
	unacked     int    // offers that no acknowledged message covers yet
	stored      uint64 // sequence of the last acknowledged message; 0 after a stream reset
}

// NewObservationPublisher returns a publisher of observations for one observer in one
// cluster. start returns the beginning of the leadership term in milliseconds since
// 1970, and 0 or less while there is none. The epoch of the observations
// is that or one more than the greatest epoch that the stream holds of this observer,
// whichever is greater: a clock that was set back cannot make the new term older.
func NewObservationPublisher(p *Publisher, cluster string, observer contract.Observer, start func() int64) *ObservationPublisher {
	o := &ObservationPublisher{p: p, cluster: cluster, observer: observer, objects: map[string]*observed{}}
	o.epoch = epoch.New(cluster, observer.Name, start, p.conn.lastEpoch, p.conn.cfg.Clock, p.conn.log)
	if filter := o.epoch.Filter(); filter != "" {
		p.stream.Own(func(ctx context.Context, stream jetstream.Stream) (bool, error) {
			return o.missing(ctx, stream, filter)
		})
	}
	p.OnReset(o.republishAll)
	return o
}

// Publish publishes obs as the newest observation of its object, unless it equals the
// last one in all but ObservedAt and the object's resource version, which changes when
// conditions are written. It sets Observer, Epoch, Seq and Coalesced.
func (o *ObservationPublisher) Publish(kind contract.Kind, obs contract.Observation) {
	o.publish(kind, obs, trace.SpanContext{}, false)
}

// PublishContext is like [ObservationPublisher.Publish], for an observation that belongs to the trace of
// ctx. If one message covers several, the newest counts. A message that is sent again
// after a stream reset has no trace.
func (o *ObservationPublisher) PublishContext(ctx context.Context, kind contract.Kind, obs contract.Observation) {
	o.publish(kind, obs, trace.SpanContextFromContext(ctx), false)
}

// Delete publishes that the object no longer exists, as a tombstone that expires, and removes it.
func (o *ObservationPublisher) Delete(kind contract.Kind, object contract.Object) {
	o.publish(kind, contract.Observation{
		Object:             object,
		Deleting:           true,
		ObservedGeneration: object.Generation,
		Reconcile:          contract.Reconcile{Outcome: contract.Succeeded},
	}, trace.SpanContext{}, true)
}

// Epoch returns the epoch that observations carry at the moment; heartbeats carry the same.
func (o *ObservationPublisher) Epoch() int64 {
	if o == nil {
		return 0
	}
	return o.epoch.Current()
}

func (o *ObservationPublisher) publish(kind contract.Kind, obs contract.Observation, cause trace.SpanContext, deleted bool) {
	if o == nil {
		return
	}
	ref := contract.Ref{Cluster: o.cluster, Namespace: obs.Object.Namespace, Kind: kind, Name: obs.Object.Name}
	subject, err := contract.ObservationSubject(ref, o.observer.Name)
	if err != nil {
		o.p.conn.metrics.Published.WithLabelValues(outcomeInvalid).Inc()
		o.p.log.Error(err, "Dropped an observation with an invalid subject", "namespace", obs.Object.Namespace, "name", obs.Object.Name)
		return
	}
	obs.Observer = o.observer
	if o.record(subject, obs, cause, deleted) {
		o.p.Enqueue(subject, func() (Message, error) { return o.build(subject) })
	}
}

// record stores an observation and reports whether it differs from the stored one.
func (o *ObservationPublisher) record(subject string, obs contract.Observation, cause trace.SpanContext, deleted bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.objects[subject]
	switch {
	case last == nil || last.observation.Object.UID != obs.Object.UID:
		last = &observed{}
		o.objects[subject] = last
	case last.deleted == deleted && sameObservation(last.observation, obs):
		return false
	}
	last.observation, last.deleted, last.cause = obs, deleted, cause
	last.unacked++
	if deleted {
		now := o.p.conn.cfg.Clock.Now()
		last.deletedAt = now
		o.pruneTombstones(now)
	}
	return true
}

// pruneTombstones drops the tombstones that could not be published before they expired. The caller holds the lock.
func (o *ObservationPublisher) pruneTombstones(now time.Time) {
	if now.Sub(o.pruned) < tombstonePruneEvery {
		return
	}
	o.pruned = now
	expired := map[string]bool{}
	for subject, last := range o.objects {
		if last.deleted && now.Sub(last.deletedAt) >= TombstoneTTL {
			expired[subject] = true
		}
	}
	for _, subject := range o.p.cancel(expired) {
		delete(o.objects, subject)
	}
}

// republishAll offers all observations again.
func (o *ObservationPublisher) republishAll() {
	o.mu.Lock()
	subjects := make([]string, 0, len(o.objects))
	for subject, last := range o.objects {
		if last.unacked == 0 {
			last.cause = trace.SpanContext{} // published, and unchanged since
		}
		last.unacked++
		last.stored = 0
		subjects = append(subjects, subject)
	}
	o.mu.Unlock()
	for _, subject := range subjects {
		o.p.Enqueue(subject, func() (Message, error) { return o.build(subject) })
	}
}

// build builds the message of the last observation of a subject; it runs in the sender.
func (o *ObservationPublisher) build(subject string) (Message, error) {
	epoch, err := o.epoch.Resolve()
	if err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	o.mu.Lock()
	last := o.objects[subject]
	if last == nil {
		o.mu.Unlock()
		return Message{}, fmt.Errorf("observation on %q was removed", subject)
	}
	last.seq++
	covered := last.unacked
	obs, deleted, cause := last.observation.Bounded(), last.deleted, last.cause
	obs.Epoch, obs.Seq, obs.Coalesced = epoch, last.seq, max(0, covered-1)
	o.mu.Unlock()

	m, err := o.encode(obs)
	if err != nil {
		return Message{}, err
	}
	if deleted {
		m.Header = map[string][]string{headerTTL: {strconv.Itoa(int(TombstoneTTL / time.Second))}}
	}
	m.cause = cause
	m.acked = func(sequence uint64) { o.acknowledged(subject, last, covered, sequence) }
	return m, nil
}

func (o *ObservationPublisher) encode(obs contract.Observation) (Message, error) {
	at := obs.ObservedAt
	if at.IsZero() {
		at = o.p.conn.cfg.Clock.Now()
	}
	if obs.Object.UID == "" {
		return Message{}, fmt.Errorf("observation of %s/%s has no uid", obs.Object.Namespace, obs.Object.Name)
	}
	id := fmt.Sprintf("%s.%s.%d.%d", obs.Object.UID, o.observer.Name, obs.Epoch, obs.Seq)
	body, err := contract.Encode(contract.Event{
		ID:       id,
		Source:   contract.Source(o.cluster, o.observer.Name),
		Subject:  obs.Object.Namespace + "/" + obs.Object.Name,
		Time:     at,
		Sequence: contract.Sequence(obs.Epoch, obs.Seq),
	}, obs)
	if err != nil {
		return Message{}, err
	}
	return Message{ID: id, Body: body}, nil
}

// acknowledged subtracts the offers that an acknowledged message covers and, after a
// tombstone, removes the object.
func (o *ObservationPublisher) acknowledged(subject string, last *observed, covered int, sequence uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last.unacked -= covered
	last.stored = sequence
	if last.deleted && last.unacked == 0 && o.objects[subject] == last {
		delete(o.objects, subject)
	}
}

// missing reports whether the stream lacks the newest acknowledged observation and any later one.
// It expects no tombstones: they expire, and readers purge them.
func (o *ObservationPublisher) missing(ctx context.Context, stream jetstream.Stream, filter string) (bool, error) {
	var want uint64
	o.mu.Lock()
	for _, last := range o.objects {
		if !last.deleted {
			want = max(want, last.stored)
		}
	}
	o.mu.Unlock()
	if want == 0 {
		return false, nil
	}
	last, err := lastObservation(ctx, stream, filter)
	return err == nil && last.Sequence < want, err
}

// sameObservation reports whether two observations describe the same state of the object.
func sameObservation(a, b contract.Observation) bool {
	for _, o := range []*contract.Observation{&a, &b} {
		o.ObservedAt = time.Time{}
		o.Object.ResourceVersion = ""
		o.Epoch, o.Seq, o.Coalesced = 0, 0, 0
	}
	return reflect.DeepEqual(a, b)
}
