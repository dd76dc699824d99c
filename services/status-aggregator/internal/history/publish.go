package history

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// attempts bounds how often one event is sent when the stream says that our
// knowledge of its last sequence is old.
const attempts = 3

// place is the last event of one object in the stream.
type place struct {
	known    bool
	sequence uint64 // 0: none
	id       string
}

// uid is the first part of the id.
func (p place) uid() string {
	uid, _, _ := strings.Cut(p.id, ".")
	return uid
}

// phase is the number of a phase change, zero for all other events.
func (p place) phase() phase {
	_, rest, _ := strings.Cut(p.id, ".")
	number, again, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return phase{}
	}
	ring, err := strconv.ParseInt(again, 10, 64)
	if err != nil && again != "" {
		return phase{}
	}
	return phase{ring, seq}
}

// follows says that the last event came after all that the entry owes: a phase
// change that the entry does not know yet, or the object's end.
func (p place) follows(r *Record) bool {
	known := phase{r.private.Ring, r.Entry.LastTransitionSeq}
	return p.uid() == r.Entry.Object.UID && (p.phase().after(known) || p.id == deletionID(r))
}

// phase is the number of a phase change, and how often the numbers had begun anew before it.
type phase struct{ ring, seq int64 }

func (p phase) after(q phase) bool { return p.ring > q.ring || p.ring == q.ring && p.seq > q.seq }

// phaseID is `<uid>.<seq>`, and `<uid>.<seq>.<ring>` once the numbers have begun anew.
func phaseID(uid string, p phase) string {
	if p.ring == 0 {
		return fmt.Sprintf("%s.%d", uid, p.seq)
	}
	return fmt.Sprintf("%s.%d.%d", uid, p.seq, p.ring)
}

// ErrWentBack says that the newest phase change of an object has a lower number than
// one that was published: the reader's cache is behind, or the cluster was restored.
var ErrWentBack = errors.New("phase changes went back")

// Flush publishes what the entry of an object owes and the stream does not hold yet.
func (s *Store) Flush(ctx context.Context, ref contract.Ref) error {
	r, err := s.Load(ctx, ref)
	if err != nil || len(r.owing) == 0 {
		return err
	}
	if err := s.locateOnce(ctx, ref, r); err != nil {
		return err
	}
	if r.place.follows(r) {
		r.owing = nil
		return nil
	}
	for len(r.owing) > 0 {
		left := r.owing
		if err := s.publish(ctx, ref, r, left[:1]); err != nil {
			return err
		}
		r.owing = left[1:]
	}
	return nil
}

// Phases publishes the entries of the object's ring that follow the last one that
// was published, and returns the newest seq that the stream has, or [ErrWentBack]. An
// entry with a lower LastTransitionSeq than before tells of that and begins anew.
func (s *Store) Phases(ctx context.Context, ref contract.Ref, object contract.Object, ring []transition.Entry) (int64, error) {
	r, err := s.Load(ctx, ref)
	if err != nil {
		return 0, err
	}
	var after phase
	same := r.Entry.Object.UID == object.UID
	if same {
		after = phase{r.private.Ring, r.Entry.LastTransitionSeq}
	}
	newest := Newest(ring)
	switch {
	case newest < after.seq:
		return 0, fmt.Errorf("%w: from %d to %d", ErrWentBack, after.seq, newest)
	case newest == after.seq:
		return newest, nil
	}
	if !same || !r.Known() {
		// No entry tells how far we came; the stream may.
		published, err := s.lastPhase(ctx, ref, object.UID)
		if err != nil {
			return 0, err
		}
		if published.after(after) {
			after = published
		}
		r.met.uid, r.met.ring = object.UID, after.ring
	}
	pending := planPhases(object, ring, after)
	if err := s.publish(ctx, ref, r, pending); err != nil {
		return 0, err
	}
	return max(after.seq, newest), nil
}

// Newest is the number of the last phase change of a ring; 0: none.
func Newest(ring []transition.Entry) int64 {
	if len(ring) == 0 {
		return 0
	}
	return ring[len(ring)-1].Seq
}

// publish sends events in order. Those that the stream has already, as its last
// message shows, are left out.
func (s *Store) publish(ctx context.Context, ref contract.Ref, r *Record, pending []planned) error {
	if len(pending) == 0 {
		return nil
	}
	if err := s.locateOnce(ctx, ref, r); err != nil {
		return err
	}
	pending = remaining(pending, r.place)
	for range attempts {
		var err error
		for len(pending) > 0 && err == nil {
			if err = s.send(ctx, ref, r, pending[0]); err == nil {
				pending = pending[1:]
			}
		}
		if err = s.noteWrite(storeStream, err); err == nil {
			return nil
		}
		if !wrongSequence(err) {
			r.place = place{} // a lost answer: the event may be there or not
			return err
		}
		s.metrics.Conflicts.WithLabelValues("lifecycle").Inc()
		r.place = place{}
		if err := s.locateOnce(ctx, ref, r); err != nil {
			return err
		}
		pending = remaining(pending, r.place)
	}
	return fmt.Errorf("publish %q of %q: %w", pending[0].id, ref, ErrConflict)
}

// remaining drops the events up to the one that stands last in the stream.
func remaining(pending []planned, last place) []planned {
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
	body, err := contract.Encode(contract.Event{
		ID:       p.id,
		Source:   contract.Source(s.cluster, observer),
		Subject:  ref.Namespace + "/" + ref.Name,
		Time:     p.time,
		Sequence: contract.Sequence(stream.CachedInfo().Created.UnixMilli(), r.place.sequence+1),
	}, p.data)
	if err != nil {
		return err
	}
	ack, err := s.bus.Publish(ctx, bus.Message{Subject: subject, ID: p.id, Body: body},
		jetstream.WithExpectLastSequenceForSubject(r.place.sequence, filter))
	s.metrics.Publishes.WithLabelValues(storeStream, bus.Result(ack, err)).Inc()
	if err != nil {
		return fmt.Errorf("publish %q to %q: %w", p.id, subject, err)
	}
	if ack.Duplicate {
		r.place = place{} // it stands somewhere; the next one asks where
		return s.locateOnce(ctx, ref, r)
	}
	r.place = place{known: true, sequence: ack.Sequence, id: p.id}
	s.metrics.Events.WithLabelValues(string(p.event)).Inc()
	if p.data.Gap {
		s.metrics.Gaps.Inc()
	}
	return nil
}

func (s *Store) locateOnce(ctx context.Context, ref contract.Ref, r *Record) error {
	if r.place.known {
		return nil
	}
	return s.locate(ctx, ref, &r.place)
}

// locate asks the stream for the last event of an object.
func (s *Store) locate(ctx context.Context, ref contract.Ref, p *place) error {
	filter, err := contract.LifecycleFilter(ref)
	if err != nil {
		return err
	}
	*p, err = s.last(ctx, filter)
	return err
}

// lastPhase asks the stream for the last phase change of one incarnation of a name.
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

func (s *Store) last(ctx context.Context, filter string) (place, error) {
	stream, err := s.lifecycle(ctx)
	if err != nil {
		return place{}, s.note(err)
	}
	m, err := stream.GetLastMsgForSubject(ctx, filter)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return place{known: true}, s.note(nil)
	}
	if err = s.note(err); err != nil {
		return place{}, fmt.Errorf("read the last event of %q: %w", filter, err)
	}
	return place{known: true, sequence: m.Sequence, id: m.Header.Get(contract.HeaderMsgID)}, nil
}
