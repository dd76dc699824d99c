package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

// Put replaces the entry of an object. The record must be current and have no pending
// events ([Store.Flush]). Put returns the next record, with the pending events of the
// changes, or [ErrConflict].
func (s *Store) Put(ctx context.Context, ref contract.Ref, entry contract.StatusEntry, memory conditions.State) (*Record, error) {
	r, err := s.Load(ctx, ref)
	if err != nil {
		return nil, err
	}
	next, value, err := s.next(ctx, ref, r, entry, memory)
	if err != nil {
		return nil, err
	}
	next.Revision, err = s.write(ctx, ref, value, r.Revision)
	s.count(ref.String(), err)
	if err = s.recordWrite(metrics.StoreBucket, err); err != nil {
		s.reload(ref)
		if errors.Is(err, ErrConflict) {
			s.metrics.Conflicts.WithLabelValues(metrics.StoreBucket).Inc()
		}
		return nil, fmt.Errorf("write status entry %q: %w", ref, err)
	}
	next.pending = plan(next.Entry, next.entryState, next.Revision)
	s.keep(ref, next)
	if r.Entry.Object.UID == entry.Object.UID {
		s.metrics.Flips(ref, r.Entry.Conditions, entry.Conditions)
	}
	s.metrics.Conditions(ref, next.Entry.Conditions)
	return next, nil
}

// next returns the record that follows r, and its value in the bucket.
func (s *Store) next(ctx context.Context, ref contract.Ref, r *Record, entry contract.StatusEntry,
	memory conditions.State,
) (*Record, []byte, error) {
	before := &r.Entry
	next := &Record{Entry: entry, Memory: memory, position: r.position, entryState: entryState{Fold: memory}}
	next.entryState.Ring = r.restarts(entry.Object.UID)
	if r.Entry.Object.UID == entry.Object.UID {
		next.entryState.Base = r.entryState.Base
		if entry.LastTransitionSeq < r.Entry.LastTransitionSeq {
			next.entryState.Ring++
		}
	}
	if !r.Known() {
		before = nil
		if err := s.setBase(ctx, ref, next, r.lost || hasForeignHistory(entry)); err != nil {
			return nil, nil, err
		}
	}
	next.entryState.Pending = pendingEvents(before, entry, r.lost || next.entryState.Base > 0, r.entryState.NeverKnown)
	next.entryState.NeverKnown = neverKnown(before, entry, r.entryState.NeverKnown)
	raw, err := json.Marshal(next.entryState)
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

// setBase keeps the event ids of an entry that replaces a lost one distinct from the ids of
// the lost entry: the revisions of a new bucket restart, while the stream may still hold the
// old events. Every entry begins with a snapshot event, so a snapshot of this incarnation in the
// stream proves that an entry existed. If the stream was lost as well, consumers may still
// have the old ids: then the creation time of the stream makes the new ones distinct.
func (s *Store) setBase(ctx context.Context, ref contract.Ref, next *Record, older bool) error {
	subject, err := contract.LifecycleSubject(ref, contract.EventSnapshot)
	if err != nil {
		return err
	}
	snapshot, err := s.last(ctx, subject)
	if err != nil {
		return err
	}
	if snapshot.uid() == next.Entry.Object.UID {
		next.entryState.Base = snapshot.sequence
		return nil
	}
	if !older {
		return nil
	}
	stream, err := s.lifecycle(ctx)
	if err != nil {
		return err
	}
	next.entryState.Base = uint64(max(0, stream.CachedInfo().Created.UnixMilli()))
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
	if errors.Is(err, jetstream.ErrKeyExists) || bus.IsConflict(err) {
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
	r := &Record{Revision: raw.Revision(), stored: raw.Created()}
	if err := json.Unmarshal(raw.Value(), &r.Entry); err != nil {
		// Written by another client or a later release: keep its revision, discard its content.
		r.Entry = contract.StatusEntry{}
		r.lost = true
		return r, nil //nolint:nilerr // a broken cache entry is replaced, it must not block the object permanently
	}
	r.entryState = decodeState(r.Entry.Memory)
	r.Memory = r.entryState.Fold
	r.pending = plan(r.Entry, r.entryState, r.Revision)
	return r, nil
}

// listTimeout bounds a listing. Its end never comes if the bucket loses entries meanwhile.
const listTimeout = 30 * time.Second

// errTruncated reports that the subscription of a listing ended before the list was complete.
var errTruncated = errors.New("subscription ended early")

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
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	out, err := listKeys(ctx, kv, token+".>")
	if err = s.note(err); err != nil {
		return nil, fmt.Errorf("list status entries: %w", err)
	}
	return out, nil
}

// listKeys reads the end marker itself: the list of [jetstream.KeyValue.ListKeysFiltered] ends in the same way
// whether it is complete or not.
func listKeys(ctx context.Context, kv jetstream.KeyValue, filter string) ([]contract.Ref, error) {
	w, err := kv.WatchFiltered(ctx, []string{filter}, jetstream.IgnoreDeletes(), jetstream.MetaOnly())
	if err != nil {
		return nil, err
	}
	defer w.Stop() //nolint:errcheck // it fails if the subscription has ended already
	var out []contract.Ref
	for {
		select {
		case entry, ok := <-w.Updates():
			if !ok {
				return nil, cmp.Or(ctx.Err(), errTruncated) // the end of the context ends it as well
			}
			if entry == nil {
				return out, nil
			}
			if ref, err := contract.ParseKey(entry.Key()); err == nil {
				out = append(out, ref)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Delete publishes that the object of the record was deleted, and deletes its entry.
// gap marks that changes before the deletion may be missing.
func (s *Store) Delete(ctx context.Context, ref contract.Ref, gap bool) error {
	r, err := s.Load(ctx, ref)
	if err != nil {
		return err
	}
	if err := s.PublishDeleted(ctx, ref, gap); err != nil {
		return err
	}
	if r.Revision > 0 {
		err := s.purge(ctx, ref, r.Revision)
		s.count(ref.String(), err)
		if err := s.recordWrite(metrics.StoreBucket, err); err != nil {
			s.reload(ref)
			return fmt.Errorf("drop status entry %q: %w", ref, err)
		}
	}
	s.forget(ref)
	s.metrics.Forget(ref)
	return nil
}

// PublishDeleted publishes that the object of the record was deleted, and keeps the entry, which
// its successor of the same name replaces.
func (s *Store) PublishDeleted(ctx context.Context, ref contract.Ref, gap bool) error {
	r, err := s.Load(ctx, ref)
	if err != nil || r.Entry.Object.UID == "" {
		return err
	}
	if err := s.Flush(ctx, ref); err != nil {
		return err
	}
	published, err := s.isDeletionPublished(ctx, ref, r)
	if err != nil || published {
		return err
	}
	return s.publish(ctx, ref, r, []planned{deletion(r, gap, s.clock.Now())})
}

// isDeletionPublished reports whether the stream has the deletion of the record's object. Its successor may already have
// events, so the last event of the name is not conclusive.
func (s *Store) isDeletionPublished(ctx context.Context, ref contract.Ref, r *Record) (bool, error) {
	subject, err := contract.LifecycleSubject(ref, contract.EventDeleted)
	if err != nil {
		return false, err
	}
	published, err := s.last(ctx, subject)
	return published.id == deletionID(r), err
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
	if bus.IsConflict(err) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}
