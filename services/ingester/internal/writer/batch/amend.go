package batch

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
)

// Edit returns the new content of a row. It is called with the row locked, or with nil if there is
// no row. It returns nil to leave the row unchanged.
type Edit func(row *rows.Row, json []byte) (*record.Record, error)

// Amend changes one row in place, for an object that exists in storage only: content, indexed
// columns, version, and labels and annotations by difference, with an `updated` event. The row
// keeps its incarnation and its times of eviction and creation. It reports whether edit changed
// the row.
func (r *Runner) Amend(ctx context.Context, kind *registry.Kind, uid string, edit Edit) (changed bool, err error) {
	err = r.transact(ctx, kind, func(b *batch) (bool, error) {
		row, json, err := b.lockRow(ctx, uid)
		if err != nil {
			return false, fmt.Errorf("lock row: %w", err)
		}
		next, err := edit(row, json)
		if err != nil || next == nil {
			return false, err
		}
		changed = true
		return b.outbox, b.amend(ctx, row, next)
	})
	return changed, err
}

// lockRow reads and locks one row.
func (b *batch) lockRow(ctx context.Context, uid string) (row *rows.Row, json []byte, err error) {
	query := "SELECT uid, namespace, name, res_version, incarnation, create_time, update_time, delete_time, evict_time, json FROM " +
		schema.Quote(b.kind.Table) + " FORCE INDEX (PRIMARY) WHERE uid = ? FOR UPDATE"
	err = database.EachRow(ctx, b.tx, query, []any{uid}, func(r *sql.Rows) error {
		row = &rows.Row{}
		return r.Scan(&row.UID, &row.Namespace, &row.Name, &row.ResVersion, &row.Incarnation,
			&row.CreateTime, &row.UpdateTime, &row.DeleteTime, &row.EvictTime, &json)
	})
	return row, json, err
}

func (b *batch) amend(ctx context.Context, row *rows.Row, r *record.Record) error {
	err := b.updateRow(ctx, r.UID, append(append([]assignment{
		{"res_version", r.ResVersion}, {"update_time", b.now},
	}, contentOf(r)...), indexOf(r)...))
	if err != nil {
		return fmt.Errorf("update row: %w", err)
	}
	b.changes = []*change{{
		Record: r, Version: decision.Version{Incarnation: row.Incarnation, ResVersion: r.ResVersion}, exists: true, outcome: decision.Updated,
	}}
	if err := b.syncAllPairs(ctx); err != nil {
		return err
	}
	if !b.outbox {
		return nil
	}
	if err := b.insertOutbox(ctx, nil); err != nil {
		return fmt.Errorf("write outbox: %w", err)
	}
	return nil
}

// assignment is one column and its new value.
type assignment struct {
	column string
	value  any
}

func contentOf(r *record.Record) []assignment {
	return []assignment{{"group_ver", r.GroupVersion}, {"proto", r.Proto}, {"json", r.JSON}}
}

func indexOf(r *record.Record) []assignment {
	out := make([]assignment, 0, len(r.Indexed))
	for i, c := range r.Kind.Columns {
		out = append(out, assignment{c.Name, r.Indexed[i]})
	}
	return out
}

// updateRow updates columns of one row.
func (b *batch) updateRow(ctx context.Context, uid string, assignments []assignment) error {
	if len(assignments) == 0 {
		return nil
	}
	list := make([]string, 0, len(assignments))
	args := make([]any, 0, len(assignments)+1)
	for _, a := range assignments {
		list = append(list, schema.Quote(a.column)+" = ?")
		args = append(args, a.value)
	}
	query := "UPDATE " + schema.Quote(b.kind.Table) + " SET " + strings.Join(list, ", ") + " WHERE uid = ?" //nolint:gosec // names of the schema; values are arguments
	_, err := b.tx.ExecContext(ctx, query, append(args, uid)...)
	return err
}
