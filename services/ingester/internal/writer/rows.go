package writer

import (
	"context"
	"database/sql"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/retry"
)

// CloseRows closes rows with their stored content, for objects whose final state is lost, and adds
// their change events in the same transaction. A row that is closed already is Unchanged; one that
// has another version than the given one, or was evicted meanwhile, is Stale and stays. The
// outcomes are parallel to the rows. Pass at most a few hundred rows.
func (w *Writer) CloseRows(ctx context.Context, kind *registry.Kind, targets []rows.Row) ([]Outcome, error) {
	if len(targets) == 0 {
		return nil, nil
	}
	var outcomes []Outcome
	err := w.retries.Do(ctx, kind.Name, len(targets), func(ctx context.Context) (err error) {
		outcomes, err = w.batches.CloseRows(ctx, kind, targets)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		if o == Deleted {
			w.cfg.Metrics.Deletes.WithLabelValues(kind.Name).Inc()
		}
	}
	return outcomes, nil
}

// EvictRows marks live rows as evicted with their stored content, with their change events, for
// objects that may have been evicted without this database. A row that has changed meanwhile is
// Stale and one that is closed Unchanged, as in [Writer.CloseRows].
func (w *Writer) EvictRows(ctx context.Context, kind *registry.Kind, targets []rows.Row) (evicted int, err error) {
	if len(targets) == 0 {
		return 0, nil
	}
	err = w.retries.Do(ctx, kind.Name, len(targets), func(ctx context.Context) (err error) {
		evicted, err = w.batches.EvictRows(ctx, kind, targets)
		return err
	})
	if err != nil {
		return 0, err
	}
	w.cfg.Metrics.Evictions.WithLabelValues(kind.Name).Add(float64(evicted))
	return evicted, nil
}

// CloseChosen locks rows, calls choose with the live ones, and closes those that it selects with
// their stored content, with the change events in the same transaction. The rows stay locked
// meanwhile, so the closed rows are exactly as choose read them. It returns the number of closed
// rows. Pass at most a few hundred rows.
func (w *Writer) CloseChosen(ctx context.Context, kind *registry.Kind, uids []string, choose Choice) (int, error) {
	if len(uids) == 0 {
		return 0, nil
	}
	closed := 0
	var choiceErr error // of choose: not a failure of the write
	once := func(ctx context.Context, tx *sql.Tx, locked []rows.Row) (chosen []string, err error) {
		chosen, choiceErr = choose(ctx, tx, locked)
		if choiceErr != nil && retry.Classify(choiceErr) == database.Other {
			return nil, nil // choiceErr is returned below
		}
		return chosen, choiceErr
	}
	err := w.retries.Do(ctx, kind.Name, len(uids), func(ctx context.Context) (err error) {
		choiceErr = nil
		closed, err = w.batches.CloseChosen(ctx, kind, uids, once)
		return err
	})
	if err != nil {
		return 0, err
	}
	w.cfg.Metrics.Deletes.WithLabelValues(kind.Name).Add(float64(closed))
	return closed, choiceErr
}

// Amend changes one row in place, for an object that exists in storage only: content, indexed
// columns, version, and labels and annotations by difference, with an `updated` event in the
// same transaction. The row keeps its incarnation and its times of eviction and creation.
func (w *Writer) Amend(ctx context.Context, kind *registry.Kind, uid string, edit Edit) error {
	changed := false
	var editErr error                                                        // of edit: not a failure of the write
	once := func(row *rows.Row, json []byte) (r *record.Record, err error) { //nolint:unparam // an Edit
		if r, editErr = edit(row, json); editErr != nil {
			return nil, nil //nolint:nilerr // no change; the error is returned below
		}
		return r, nil
	}
	err := w.retries.Do(ctx, kind.Name, 1, func(ctx context.Context) (err error) {
		changed, err = w.batches.Amend(ctx, kind, uid, once)
		return err
	})
	switch {
	case err != nil:
		return err
	case editErr != nil:
		return editErr
	case changed:
		w.cfg.Metrics.Upserts.WithLabelValues(kind.Name, string(Updated)).Inc()
	}
	return nil
}

// Rewrite rewrites rows in one transaction. A row that has another version by now, or no longer
// exists, is Stale and not rewritten. Rewrite adds no change events and keeps the time of the last
// update, since the objects did not change. The outcomes are parallel to the rewrites,
// which must be of different objects, at most a few hundred.
func (w *Writer) Rewrite(ctx context.Context, kind *registry.Kind, rewrites []Rewrite) (outcomes []Outcome, err error) {
	if len(rewrites) == 0 {
		return nil, nil
	}
	err = w.retries.Do(ctx, kind.Name, len(rewrites), func(ctx context.Context) (err error) {
		outcomes, err = w.batches.Rewrite(ctx, kind, rewrites)
		return err
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}
