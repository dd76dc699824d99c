package batch

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// Choice selects which of the locked live rows to close, by uid.
type Choice func(ctx context.Context, tx *sql.Tx, locked []rows.Row) (uids []string, err error)

// CloseChosen locks rows, calls choose with the live ones, and closes those that it selects with
// their stored content and change events. The rows stay locked meanwhile, so the closed rows are
// exactly as choose read them. It returns the number of closed rows.
func (r *Runner) CloseChosen(ctx context.Context, kind *registry.Kind, uids []string, choose Choice) (closed int, err error) {
	err = r.transact(ctx, kind, func(b *batch) (bool, error) {
		live, err := b.lockLive(ctx, uids)
		if err != nil {
			return false, fmt.Errorf("lock rows: %w", err)
		}
		chosen, err := pick(ctx, b.tx, live, choose)
		if err != nil || len(chosen) == 0 {
			return false, err
		}
		closed = len(chosen)
		return true, b.closeRows(ctx, chosen)
	})
	return closed, err
}

// pick calls choose and returns the rows that it selected, in the order of their uids.
func pick(ctx context.Context, tx *sql.Tx, live []liveRow, choose Choice) ([]liveRow, error) {
	locked := make([]rows.Row, 0, len(live))
	for _, o := range live {
		locked = append(locked, rows.Row{UID: o.uid, Namespace: o.namespace, Name: o.name, Incarnation: o.Incarnation, ResVersion: o.ResVersion})
	}
	if len(locked) == 0 {
		return nil, nil
	}
	uids, err := choose(ctx, tx, locked)
	if err != nil {
		return nil, err
	}
	chosen := map[string]bool{}
	for _, uid := range uids {
		chosen[uid] = true
	}
	var out []liveRow
	for _, o := range live {
		if chosen[o.uid] {
			out = append(out, o)
		}
	}
	return out, nil
}

// lockLive locks rows in the order of their uids and returns those that are live.
func (b *batch) lockLive(ctx context.Context, uids []string) (out []liveRow, err error) {
	args := make([]any, 0, len(uids))
	for _, uid := range uids {
		args = append(args, uid)
	}
	query := "SELECT uid, namespace, name, incarnation, res_version, delete_time IS NULL," +
		" COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.generation')), '0') FROM " + schema.Quote(b.kind.Table) +
		" FORCE INDEX (PRIMARY) WHERE uid IN " + statement.Placeholders(len(args)) + " ORDER BY uid FOR UPDATE"
	err = database.EachRow(ctx, b.tx, query, args, func(r *sql.Rows) error {
		var o liveRow
		var live bool
		if err := r.Scan(&o.uid, &o.namespace, &o.name, &o.Incarnation, &o.ResVersion, &live, &o.generation); err != nil {
			return err
		}
		if live {
			out = append(out, o)
		}
		return nil
	})
	return out, err
}
