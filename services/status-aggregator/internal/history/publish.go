package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

// attempts is how often events are sent when the stream rejects the expected last
// sequence as stale.
const attempts = 3

// ErrPhaseRegressed reports that the latest phase change of an object has a lower number than
// a published one: the cache is stale, or the cluster was restored.
var ErrPhaseRegressed = errors.New("phase changes regressed")

// Flush publishes the pending events of an object's entry that are not in the stream yet.
func (s *Store) Flush(ctx context.Context, ref contract.Ref) error {
	r, err := s.Load(ctx, ref)
	if err != nil || len(r.pending) == 0 {
		return err
	}
	published, err := s.isFlushed(ctx, ref, r)
	if err != nil {
		return err
	}
	if published {
		r.pending = nil
		return nil
	}
	// All at once, so that those up to the last one in the stream are skipped.
	if err := s.publish(ctx, ref, r, r.pending); err != nil {
		return err
	}
	r.pending = nil
	return nil
}

// isFlushed reports whether the stream has an event that follows all pending ones of the entry, or has
// discarded them.
func (s *Store) isFlushed(ctx context.Context, ref contract.Ref, r *Record) (bool, error) {
	if err := s.detectOutdated(ctx, ref, r); err != nil || r.lost {
		return err == nil, err
	}
	if r.position.sequence == 0 {
		return s.isDiscarded(ctx, r)
	}
	if r.position.uid() == r.Entry.Object.UID {
		return r.position.isAfter(r), nil
	}
	// The last event is of another incarnation: those of a successor follow the deletion.
	return s.isDeletionPublished(ctx, ref, r)
}

// Phases publishes the entries of the object's ring that follow the last published one,
// and returns the latest seq in the stream, or [ErrPhaseRegressed]. Putting an
// entry with a lower LastTransitionSeq than before publishes a gap and restarts the numbers.
func (s *Store) Phases(ctx context.Context, ref contract.Ref, object contract.Object, ring []transition.Entry) (int64, error) {
	r, err := s.Load(ctx, ref)
	if err != nil {
		return 0, err
	}
	var after phase
	same := r.Entry.Object.UID == object.UID
	if same {
		after = phase{r.entryState.Ring, r.Entry.LastTransitionSeq}
	}
	latest := LatestSeq(ring)
	switch {
	case latest < after.seq:
		return 0, fmt.Errorf("%w: from %d to %d", ErrPhaseRegressed, after.seq, latest)
	case latest == after.seq:
		return latest, nil
	}
	if err := s.detectOutdated(ctx, ref, r); err != nil {
		return 0, err
	}
	if !same || !r.Known() {
		// Without an entry, the last published number is in the stream.
		published, err := s.lastPhase(ctx, ref, object.UID)
		if err != nil {
			return 0, err
		}
		if published.after(after) {
			after = published
		}
		r.found.uid, r.found.restarts = object.UID, after.restarts
	}
	pending := planPhases(object, ring, after)
	if err := s.publish(ctx, ref, r, pending); err != nil {
		return 0, err
	}
	return max(after.seq, latest), nil
}

// LatestSeq returns the number of the last phase change of a ring; 0 for none.
func LatestSeq(ring []transition.Entry) int64 {
	if len(ring) == 0 {
		return 0
	}
	return ring[len(ring)-1].Seq
}

// publish sends events in order. It skips those that the stream already holds according to its last
// message.
func (s *Store) publish(ctx context.Context, ref contract.Ref, r *Record, pending []planned) error {
	if len(pending) == 0 {
		return nil
	}
	for attempt := range attempts {
		if err := s.locateOnce(ctx, ref, r); err != nil {
			return err
		}
		if attempt > 0 && r.position.isOfLaterEntry(r) {
			s.reload(ref)
			return fmt.Errorf("publish %q of %q: a later entry was written: %w", pending[0].id, ref, ErrConflict)
		}
		if pending = remaining(pending, r.position); len(pending) == 0 {
			return nil // published before: nothing shows whether the stream accepts events now
		}
		var err error
		for len(pending) > 0 && err == nil {
			if err = s.send(ctx, ref, r, pending[0]); err == nil {
				pending = pending[1:]
			}
		}
		if err = s.recordWrite(metrics.StoreStream, err); err == nil {
			return nil
		}
		r.position = position{} // the acknowledgment may be lost: the event may or may not be stored
		if !bus.IsConflict(err) {
			return err
		}
		s.metrics.Conflicts.WithLabelValues(metrics.StoreStream).Inc()
	}
	return fmt.Errorf("publish %q of %q: %w", pending[0].id, ref, ErrConflict)
}

// remaining drops the events up to the last one in the stream.
func remaining(pending []planned, last position) []planned {
	for i, p := range pending {
		if p.id == last.id {
			return pending[i+1:]
		}
	}
	for len(pending) > 0 && pending[0].phase.seq > 0 && last.phase().seq > 0 &&
		last.uid() == pending[0].data.Object.UID && !pending[0].phase.after(last.phase()) {
		pending = pending[1:]
	}
	return pending
}

func (s *Store) send(ctx context.Context, ref contract.Ref, r *Record, p planned) error {
	subject, err := contract.LifecycleSubject(ref, p.event)
	if err != nil {
		return err
	}
	filter, err := contract.LifecycleFilter(ref)
	if err != nil {
		return err
	}
	stream, err := s.lifecycle(ctx)
	if err != nil {
		return err
	}
	previous := r.position.sequence
	if previous == 0 { // the stream may have discarded former events of the object
		state, err := s.lifecycleState(ctx)
		if err != nil {
			return err
		}
		previous = state.LastSeq
	}
	body, err := contract.Encode(contract.Event{
		ID:       p.id,
		Source:   contract.Source(s.cluster, observer),
		Subject:  ref.Namespace + "/" + ref.Name,
		Time:     p.time,
		Sequence: contract.Sequence(stream.CachedInfo().Created.UnixMilli(), previous+1),
	}, p.data)
	if err != nil {
		return err
	}
	ack, err := s.bus.Publish(ctx, bus.Message{Subject: subject, ID: p.id, Body: body},
		jetstream.WithExpectLastSequenceForSubject(r.position.sequence, filter))
	s.metrics.Publishes.WithLabelValues(metrics.StoreStream, bus.Result(ack, err)).Inc()
	if err != nil {
		return fmt.Errorf("publish %q to %q: %w", p.id, subject, err)
	}
	if ack.Duplicate {
		r.position = position{} // stored before, at an unknown sequence
		return s.locateOnce(ctx, ref, r)
	}
	r.position = position{known: true, sequence: ack.Sequence, id: p.id}
	s.metrics.Events.WithLabelValues(string(p.event)).Inc()
	if p.data.Gap {
		s.metrics.Gaps.Inc()
	}
	return nil
}

// detectOutdated treats the entry of the record as lost if the stream has an event of a later one: a lagging replica
// returned it, then the next write conflicts, or the bucket was reset. Its own events are in the stream or discarded.
func (s *Store) detectOutdated(ctx context.Context, ref contract.Ref, r *Record) error {
	if err := s.locateOnce(ctx, ref, r); err != nil {
		return err
	}
	if r.position.isOfLaterEntry(r) {
		r.lost = true
	}
	return nil
}

func (s *Store) locateOnce(ctx context.Context, ref contract.Ref, r *Record) error {
	if r.position.known {
		return nil
	}
	return s.locate(ctx, ref, &r.position)
}

// locate reads the last event of an object from the stream.
func (s *Store) locate(ctx context.Context, ref contract.Ref, p *position) error {
	filter, err := contract.LifecycleFilter(ref)
	if err != nil {
		return err
	}
	*p, err = s.last(ctx, filter)
	return err
}

// lastPhase reads the last phase change of one incarnation of a name from the stream.
func (s *Store) lastPhase(ctx context.Context, ref contract.Ref, uid string) (phase, error) {
	subject, err := contract.LifecycleSubject(ref, contract.EventPhase)
	if err != nil {
		return phase{}, err
	}
	p, err := s.last(ctx, subject)
	if err != nil || p.uid() != uid {
		return phase{}, err
	}
	return p.phase(), nil
}

func (s *Store) last(ctx context.Context, filter string) (position, error) {
	stream, err := s.lifecycle(ctx)
	if err != nil {
		return position{}, s.note(err)
	}
	m, err := stream.GetLastMsgForSubject(ctx, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return position{known: true}, s.note(nil)
	}
	if err = s.note(err); err != nil {
		return position{}, fmt.Errorf("read the last event of %q: %w", filter, err)
	}
	return position{known: true, sequence: m.Sequence, id: m.Header.Get(contract.HeaderMsgID)}, nil
}
