package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Put writes the next entry of an object in place of the record, which must be the
// present one and must owe nothing ([Store.Flush]). It returns the next record,
// which owes the events of what changed, or [ErrConflict].
func (s *Store) Put(ctx context.Context, ref contract.Ref, entry contract.StatusEntry, memory conditions.Memory) (*Record, error) {
	r, err := s.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	next, value, err := s.next(ctx, ref, r, entry, memory)
	if err != nil {
		return nil, err
	}
	next.Revision, err = s.write(ctx, ref, value, r.Revision)
	s.count(ref, err)
	if err = s.noteWrite(storeBucket, err); err != nil {
		s.doubt(ref)
		if errors.Is(err, ErrConflict) {
			s.metrics.Conflicts.WithLabelValues("kv").Inc()
		}
		return nil, fmt.Errorf("write status entry %q: %w", ref, err)
	}
	next.owing = plan(next.Entry, next.private, next.Revision)
	s.keep(ref, next)
	if r.Entry.Object.UID == entry.Object.UID {
		s.metrics.Flips(ref, r.Entry.Conditions, entry.Conditions)
	}
	s.metrics.Conditions(ref, next.Entry.Conditions)
	return next, nil
}

// next prepares the record that follows r, and its value in the bucket.
func (s *Store) next(ctx context.Context, ref contract.Ref, r *Record, entry contract.StatusEntry,
	memory conditions.Memory,
) (*Record, []byte, error) {
	before := &r.Entry
	next := &Record{Entry: entry, Memory: memory, place: r.place, private: private{Fold: memory}}
	next.private.Ring = r.ring(entry.Object.UID)
	if r.Entry.Object.UID == entry.Object.UID {
		next.private.Base = r.private.Base
		if entry.LastTransitionSeq < r.Entry.LastTransitionSeq {
			next.private.Ring++
		}
	}
	if !r.Known() {
		before = nil
		if err := s.rebase(ctx, ref, next, r.lost || carriesHistory(entry)); err != nil {
			return nil, nil, err
		}
	}
	next.private.Owes = owes(before, entry, r.lost || next.private.Base > 0, r.private.Unjudged)
	next.private.Unjudged = unjudged(before, entry, r.private.Unjudged)
	raw, err := json.Marshal(next.private)
	if err != nil {
		return nil, nil, fmt.Errorf("encode memory of %q: %w", ref, err)
	}
	next.Entry.Memory = raw
	value, err := json.Marshal(next.Entry)
	if err != nil {
		return nil, nil, fmt.Errorf("encode status entry %q: %w", ref, err)
	}
	return next, value, nil
}

// rebase keeps the ids of an entry that replaces a lost one apart from the ids of
// that one: the revisions of a new bucket start over, the stream may remember the
// former. Every entry begins with a snapshot event, so one of this incarnation in
// the stream says that there was an entry. A stream that was lost as well remembers
// nothing, while readers outside do: then the time at which it was made tells apart.
func (s *Store) rebase(ctx context.Context, ref contract.Ref, next *Record, older bool) error {
	subject, err := contract.LifecycleSubject(ref, contract.EventSnapshot)
	if err != nil {
		return err
	}
	former, err := s.last(ctx, subject)
	if err != nil {
		return err
	}
	if former.uid() == next.Entry.Object.UID {
		next.private.Base = former.sequence
		return nil
	}
	if !older {
		return nil
	}
	stream, err := s.lifecycle(ctx)
	if err != nil {
		return err
	}
	next.private.Base = uint64(max(0, stream.CachedInfo().Created.UnixMilli()))
	return nil
}

func (s *Store) write(ctx context.Context, ref contract.Ref, value []byte, revision uint64) (uint64, error) {
	kv, err := s.bucket(ctx)
	if err != nil {
		return 0, err
	}
	key, err := ref.Key()
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		revision, err = kv.Create(ctx, key, value)
	} else {
		revision, err = kv.Update(ctx, key, value, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || wrongSequence(err) {
		return 0, fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return revision, err
}

func (s *Store) read(ctx context.Context, ref contract.Ref) (*Record, error) {
	kv, err := s.bucket(ctx)
	if err != nil {
		return nil, err
	}
	key, err := ref.Key()
	if err != nil {
		return nil, err
	}
	raw, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return &Record{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Record{Revision: raw.Revision()}
	if err := json.Unmarshal(raw.Value(), &r.Entry); err != nil {
		// Not ours, or of a release to come: its place is taken, its content begins anew.
		r.Entry = contract.StatusEntry{}
		r.lost = true
		return r, nil //nolint:nilerr // a broken cache entry is replaced, it must not stop the object for good
	}
	r.private = decodePrivate(r.Entry.Memory)
	r.Memory = r.private.Fold
	r.owing = plan(r.Entry, r.private, r.Revision)
	return r, nil
}

// Keys lists the objects of this cluster that have an entry.
func (s *Store) Keys(ctx context.Context) ([]contract.Ref, error) {
	kv, err := s.bucket(ctx)
	if err != nil {
		return nil, err
	}
	token, err := contract.EncodeToken(s.cluster)
	if err != nil {
		return nil, err
	}
	lister, err := kv.ListKeysFiltered(ctx, token+".>")
	if err = s.note(err); err != nil {
		return nil, fmt.Errorf("list status entries: %w", err)
	}
	var out []contract.Ref
	for key := range lister.Keys() {
		if ref, err := contract.ParseKey(key); err == nil {
			out = append(out, ref)
		}
	}
	return out, nil
}

// Delete publishes that the object of the record is gone and drops its entry.
// gap says that changes before its end may be missing.
func (s *Store) Delete(ctx context.Context, ref contract.Ref, gap bool) error {
	r, err := s.Load(ctx, ref)
	if err != nil {
		return err
	}
	if err := s.Bury(ctx, ref, gap); err != nil {
		return err
	}
	if r.Revision > 0 {
		err := s.purge(ctx, ref, r.Revision)
		s.count(ref, err)
		if err := s.noteWrite(storeBucket, err); err != nil {
			s.doubt(ref)
			return fmt.Errorf("drop status entry %q: %w", ref, err)
		}
	}
	s.forget(ref)
	s.metrics.Forget(ref)
	return nil
}

// Bury publishes that the object of the record is gone, and leaves the entry for
// its successor of the same name to replace.
func (s *Store) Bury(ctx context.Context, ref contract.Ref, gap bool) error {
	r, err := s.Load(ctx, ref)
	if err != nil || r.Entry.Object.UID == "" {
		return err
	}
	if err := s.Flush(ctx, ref); err != nil {
		return err
	}
	subject, err := contract.LifecycleSubject(ref, contract.EventDeleted)
	if err != nil {
		return err
	}
	// Its successor may have events already, so the last event of all does not tell.
	told, err := s.last(ctx, subject)
	if err != nil || told.id == deletionID(r) {
		return err
	}
	return s.publish(ctx, ref, r, []planned{deletion(r, gap, s.clock.Now())})
}

func (s *Store) purge(ctx context.Context, ref contract.Ref, revision uint64) error {
	kv, err := s.bucket(ctx)
	if err != nil {
		return err
	}
	key, err := ref.Key()
	if err != nil {
		return err
	}
	err = kv.Purge(ctx, key, jetstream.LastRevision(revision), jetstream.PurgeTTL(tombstone))
	if wrongSequence(err) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}
