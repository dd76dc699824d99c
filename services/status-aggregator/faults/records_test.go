package faults

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
)

// records is the bucket as seen by one process: package history without the events.
type records struct {
	w                *simulation
	known, forgotten map[contract.Ref]*history.Record
}

func (r *records) invalidate() {
	maps.Copy(r.forgotten, r.known)
	r.known = map[contract.Ref]*history.Record{}
}

func (r *records) Load(_ context.Context, of contract.Ref) (*history.Record, error) {
	if record := r.known[of]; record != nil {
		return record, nil
	}
	if !r.w.busUp {
		return nil, errUnavailable
	}
	record := &history.Record{}
	if e, ok := r.w.bucket[of]; ok {
		record.Revision = e.revision
		if err := json.Unmarshal(e.value, &record.Entry); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(record.Entry.Memory, &record.Memory); err != nil {
			return nil, err
		}
	} else if before := r.forgotten[of]; before != nil {
		record.Entry, record.Memory = before.Entry, before.Memory
	}
	r.known[of] = record
	return record, nil
}

func (r *records) Put(ctx context.Context, of contract.Ref, e contract.StatusEntry, m conditions.State) (*history.Record, error) {
	record, err := r.Load(ctx, of)
	if err != nil {
		return nil, err
	}
	if !r.w.busUp {
		return nil, errUnavailable
	}
	if r.w.bucket[of].revision != record.Revision {
		r.w.conflicts++
		delete(r.known, of)
		return nil, history.ErrConflict
	}
	r.checkMonotonic(record.Entry, e)
	if e.Memory, err = json.Marshal(m); err != nil {
		return nil, err
	}
	value, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	r.w.revision++
	r.w.bucket[of] = entry{r.w.revision, value}
	if r.w.chance(5) {
		delete(r.known, of)
		return nil, errUnavailable // stored, but not acknowledged
	}
	r.known[of] = &history.Record{Entry: e, Memory: m, Revision: r.w.revision}
	return r.known[of], nil
}

// checkMonotonic checks that the provenance of an entry never regresses. A lower epoch is accepted
// once the greater one was stale for long enough; simulation.apply checks the result.
func (r *records) checkMonotonic(before, after contract.StatusEntry) {
	b, a := before.Provenance, after.Provenance
	if b == nil || a == nil || before.Object.UID != after.Object.UID {
		return
	}
	if a.Epoch == b.Epoch && a.Seq < b.Seq {
		r.w.reportViolation("B2: entry of %s is at (%d, %d) after (%d, %d)", after.Object.Name, a.Epoch, a.Seq, b.Epoch, b.Seq)
	}
}

func (r *records) Phases(context.Context, contract.Ref, contract.Object, []transition.Entry) (int64, error) {
	return 0, nil
}

func (r *records) Flush(context.Context, contract.Ref) error { return nil }

func (r *records) PublishDeleted(context.Context, contract.Ref, bool) error { return nil }

func (r *records) Delete(ctx context.Context, of contract.Ref, _ bool) error {
	record, err := r.Load(ctx, of)
	if err != nil {
		return err
	}
	if record.Revision > 0 {
		if r.w.bucket[of].revision != record.Revision {
			r.w.conflicts++
			delete(r.known, of)
			return history.ErrConflict
		}
		delete(r.w.bucket, of)
	}
	delete(r.known, of)
	delete(r.forgotten, of)
	return nil
}
