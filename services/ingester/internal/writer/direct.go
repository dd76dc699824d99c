package writer

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Edit returns the new content of a row. It is called with the row locked, or with nil when
// there is none, and perhaps more than once. It returns nil for a row that stays as it is; its
// error ends the write and is returned unchanged.
type Edit func(row *rows.Row, json []byte) (*record.Record, error)

// Amend changes one row in place, for an object that lives in storage only: content, indexed
// columns, version, and labels and annotations by difference, with an `updated` event in the
// same transaction. The row keeps its incarnation and its times of eviction and creation.
func (w *Writer) Amend(ctx context.Context, kind *registry.Kind, uid string, edit Edit) error {
	var r *record.Record
	var verdict error // of edit: no failure of the write
	err := w.transact(ctx, kind, 1, func(ctx context.Context, b *batch) error {
		row, json, err := b.locked(ctx, uid)
		if err != nil {
			return fmt.Errorf("look at the row: %w", err)
		}
		if r, verdict = edit(row, json); verdict != nil || r == nil {
			return nil //nolint:nilerr // the verdict is returned below
		}
		return b.amend(ctx, row, r)
	})
	switch {
	case err != nil:
		return err
	case verdict != nil:
		return verdict
	case r != nil:
		w.cfg.Metrics.Upserts.WithLabelValues(kind.Name, string(Updated)).Inc()
	}
	return nil
}

// locked reads one row for an edit and locks it.
func (b *batch) locked(ctx context.Context, uid string) (row *rows.Row, json []byte, err error) {
	query := "SELECT uid, namespace, name, res_version, incarnation, create_time, update_time, delete_time, evict_time, json FROM " +
		schema.Quote(b.kind.Table) + " FORCE INDEX (PRIMARY) WHERE uid = ? FOR UPDATE"
	err = each(ctx, b.tx, query, []any{uid}, func(r *sql.Rows) error {
		row = &rows.Row{}
		return r.Scan(&row.UID, &row.Namespace, &row.Name, &row.ResVersion, &row.Incarnation,
			&row.CreateTime, &row.UpdateTime, &row.DeleteTime, &row.EvictTime, &json)
	})
	return row, json, err
}

func (b *batch) amend(ctx context.Context, row *rows.Row, r *record.Record) error {
	err := b.set(ctx, r.UID, append(append([]assignment{
		{"res_version", r.ResVersion}, {"update_time", b.now},
	}, contentOf(r)...), indexOf(r)...))
	if err != nil {
		return fmt.Errorf("write the row: %w", err)
	}
	b.changes = []*change{{
		Record: r, version: version{incarnation: row.Incarnation, res: r.ResVersion}, exists: true, outcome: Updated,
	}}
	if err := b.allPairs(ctx); err != nil {
		return err
	}
	if !b.outbox {
		return nil
	}
	if err := b.announce(ctx, nil); err != nil {
		return fmt.Errorf("write outbox: %w", err)
	}
	return nil
}

// allPairs brings labels and annotations of the changes up to date.
func (b *batch) allPairs(ctx context.Context) error {
	if err := b.pairs(ctx, b.kind.LabelsTable(), func(r *record.Record) map[string]string { return r.Labels }); err != nil {
		return fmt.Errorf("write labels: %w", err)
	}
	if err := b.pairs(ctx, b.kind.AnnotationsTable(), func(r *record.Record) map[string]string { return r.Annotations }); err != nil {
		return fmt.Errorf("write annotations: %w", err)
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

// set writes columns of one row.
func (b *batch) set(ctx context.Context, uid string, assignments []assignment) error {
	if len(assignments) == 0 {
		return nil
	}
	list := make([]string, 0, len(assignments))
	args := make([]any, 0, len(assignments)+1)
	for _, a := range assignments {
		list = append(list, schema.Quote(a.column)+" = ?")
		args = append(args, a.value)
	}
	query := "UPDATE " + schema.Quote(b.kind.Table) + " SET " + strings.Join(list, ", ") + " WHERE uid = ?"
	_, err := b.tx.ExecContext(ctx, query, append(args, uid)...)
	return err
}

// transact runs work over some objects of a kind in one transaction, again if that may help.
func (w *Writer) transact(ctx context.Context, kind *registry.Kind, objects int, work func(context.Context, *batch) error) error {
	return w.retry(ctx, kind.Name, objects, func(ctx context.Context) error {
		return w.inTransaction(ctx, kind, func(b *batch) (bool, error) {
			err := work(ctx, b)
			return b.outbox && len(b.changes) > 0, err
		})
	})
}

// inTransaction runs work in one transaction; announced reports whether it added outbox rows.
func (w *Writer) inTransaction(ctx context.Context, kind *registry.Kind, work func(*batch) (announced bool, err error)) (err error) {
	tx, err := w.cfg.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if err != nil {
			err = withRollback(err, tx.Rollback())
		}
	}()
	announced, err := work(&batch{tx: tx, kind: kind, now: w.cfg.Clock.Now().UTC().Truncate(time.Microsecond), outbox: w.cfg.Outbox, measure: w.measure})
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if announced && w.cfg.Outbox {
		w.cfg.OnCommit()
	}
	return nil
}
