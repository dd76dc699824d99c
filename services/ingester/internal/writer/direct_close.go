package writer

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Choice selects which of the locked live rows to close, by uid. It may be called more than
// once. An error of it that a retry cannot clear ends the write and is returned unchanged.
type Choice func(ctx context.Context, tx *sql.Tx, locked []rows.Row) (uids []string, err error)

// CloseChosen locks rows, calls choose with the live ones, and closes those that it selects as
// they are, with the change events in the same transaction. The rows stay locked meanwhile, so
// the closed rows are exactly as choose read them. It returns the number of closed rows. Pass
// at most a few hundred rows.
func (w *Writer) CloseChosen(ctx context.Context, kind *registry.Kind, uids []string, choose Choice) (int, error) {
	if len(uids) == 0 {
		return 0, nil
	}
	closed := 0
	var verdict error // of choose: no failure of the write
	err := w.retry(ctx, kind.Name, len(uids), func(ctx context.Context) error {
		closed, verdict = 0, nil
		return w.inTransaction(ctx, kind, func(b *batch) (bool, error) {
			live, err := b.live(ctx, uids)
			if err != nil {
				return false, fmt.Errorf("look at rows: %w", err)
			}
			var chosen []rival
			chosen, verdict = pick(ctx, b.tx, live, choose)
			if verdict != nil && classify(verdict) != database.Other {
				return false, verdict
			}
			if verdict != nil || len(chosen) == 0 {
				return false, nil //nolint:nilerr // the verdict is returned below
			}
			closed = len(chosen)
			return true, b.closeAsTheyAre(ctx, chosen)
		})
	})
	if err != nil {
		return 0, err
	}
	w.cfg.Metrics.Deletes.WithLabelValues(kind.Name).Add(float64(closed))
	return closed, verdict
}

// pick calls choose and returns the rows that it selected, in the order of their uids.
func pick(ctx context.Context, tx *sql.Tx, live []rival, choose Choice) ([]rival, error) {
	locked := make([]rows.Row, 0, len(live))
	for _, o := range live {
		locked = append(locked, rows.Row{UID: o.uid, Namespace: o.namespace, Name: o.name, Incarnation: o.incarnation, ResVersion: o.res})
	}
	if len(locked) == 0 {
		return nil, nil
	}
	uids, err := choose(ctx, tx, locked)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, uid := range uids {
		wanted[uid] = true
	}
	var out []rival
	for _, o := range live {
		if wanted[o.uid] {
			out = append(out, o)
		}
	}
	return out, nil
}

// live locks rows in the order of their uids and returns those that are live.
func (b *batch) live(ctx context.Context, uids []string) (out []rival, err error) {
	args := make([]any, 0, len(uids))
	for _, uid := range uids {
		args = append(args, uid)
	}
	query := "SELECT uid, namespace, name, incarnation, res_version, delete_time IS NULL," +
		" COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.generation')), '0') FROM " + schema.Quote(b.kind.Table) +
		" FORCE INDEX (PRIMARY) WHERE uid IN " + placeholders(len(args)) + " ORDER BY uid FOR UPDATE"
	err = each(ctx, b.tx, query, args, func(r *sql.Rows) error {
		var o rival
		var live bool
		if err := r.Scan(&o.uid, &o.namespace, &o.name, &o.incarnation, &o.res, &live, &o.generation); err != nil {
			return err
		}
		if live {
			out = append(out, o)
		}
		return nil
	})
	return out, err
}
