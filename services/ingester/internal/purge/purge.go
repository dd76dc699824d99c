package purge

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Request selects the rows of a kind to delete.
type Request struct {
	Kind *registry.Kind
	// Before selects rows that were closed before this time.
	Before time.Time
	// Namespaces to work in; none means all.
	Namespaces []string
	// Batch is the maximum number of rows that one transaction deletes; zero means 500.
	Batch int
}

const defaultBatch = 500

// Counts counts the rows of one kind.
type Counts struct {
	Kind string `json:"kind"`
	// Rows that were deleted, or would be.
	Rows int `json:"rows"`
	// Waiting rows are kept: their change events have not been published.
	Waiting int `json:"waiting"`
}

// Count returns the counts of a Delete without deleting rows.
func Count(ctx context.Context, db *sql.DB, r Request) (Counts, error) {
	counts := Counts{Kind: r.Kind.Name}
	err := r.pages(ctx, db, func(uids []string) error {
		waiting, err := column(ctx, sqlx.NewDb(db, "mysql"), withEvents, uids)
		if err != nil {
			return fmt.Errorf("count closed rows of %s: %w", r.Kind.Name, err)
		}
		counts.Rows += len(uids) - len(waiting)
		counts.Waiting += len(waiting)
		return nil
	})
	return counts, err
}

// withEvents selects those of some uids that have change events in the outbox.
var withEvents = "SELECT DISTINCT uid FROM " + schema.Quote(schema.OutboxTable) + " WHERE uid IN (?)"

// Delete deletes the rows, batch after batch. If interrupted, it has deleted whole
// batches; another run continues.
func Delete(ctx context.Context, db *sql.DB, r Request) (Counts, error) {
	counts := Counts{Kind: r.Kind.Name}
	err := r.pages(ctx, db, func(uids []string) error {
		deleted, waiting, err := r.retry(ctx, db, uids)
		counts.Rows += deleted
		counts.Waiting += waiting
		return err
	})
	return counts, err
}

// closed is a closed row that may be deleted.
type closed struct {
	UID       string    `db:"uid"`
	Namespace string    `db:"namespace"`
	Time      time.Time `db:"delete_time"`
}

// pages calls f with the uids of the rows of each page, in the order in which they were closed. The
// server selects by time, in all namespaces, so that one statement reads no more rows than a page has.
func (r Request) pages(ctx context.Context, db *sql.DB, f func(uids []string) error) error {
	if r.Batch == 0 {
		r.Batch = defaultBatch
	}
	var last closed
	for {
		page, err := r.page(ctx, db, last)
		if err != nil || len(page) == 0 {
			return err
		}
		last = page[len(page)-1]
		var uids []string
		for _, row := range page {
			if len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, row.Namespace) {
				uids = append(uids, row.UID)
			}
		}
		if len(uids) == 0 {
			continue
		}
		if err := f(uids); err != nil {
			return err
		}
	}
}

// page returns the next rows of all namespaces in the order in which they were closed.
func (r Request) page(ctx context.Context, db *sql.DB, last closed) ([]closed, error) {
	where, args := "delete_time IS NOT NULL AND delete_time < ?", []any{r.Before.UTC()}
	if last.UID != "" {
		where, args = where+" AND (delete_time > ? OR (delete_time = ? AND uid > ?))", append(args, last.Time, last.Time, last.UID)
	}
	query := "SELECT uid, namespace, delete_time FROM " + schema.Quote(r.Kind.Table) + " FORCE INDEX (idx_delete_time)" +
		" WHERE " + where + " ORDER BY delete_time, uid LIMIT ?"
	var out []closed
	if err := sqlx.NewDb(db, "mysql").SelectContext(ctx, &out, query, append(args, r.Batch)...); err != nil {
		return nil, fmt.Errorf("read closed rows of %s: %w", r.Kind.Name, err)
	}
	return out, nil
}

// attempts bounds the attempts of a batch that conflicts with another transaction.
const attempts = 5

func (r Request) retry(ctx context.Context, db *sql.DB, uids []string) (deleted, waiting int, err error) {
	for range attempts {
		deleted, waiting, err = r.delete(ctx, db, uids)
		if err == nil || database.Classify(err) != database.Contention {
			break
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("delete closed rows of %s: %w", r.Kind.Name, err)
	}
	return deleted, waiting, nil
}

// delete removes one batch in one transaction.
func (r Request) delete(ctx context.Context, db *sql.DB, uids []string) (deleted, waiting int, err error) {
	tx, err := sqlx.NewDb(db, "mysql").BeginTxx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, 0, fmt.Errorf("begin transaction: %w", err)
	}
	defer func() {
		if rollback := tx.Rollback(); err != nil && rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, rollback)
		}
	}()
	slices.Sort(uids)
	table := schema.Quote(r.Kind.Table)
	// In a restored cluster, a row may have become live again.
	locked, err := column(ctx, tx, "SELECT uid FROM "+table+" FORCE INDEX (PRIMARY) WHERE uid IN (?) AND delete_time IS NOT NULL AND delete_time < ? ORDER BY uid FOR UPDATE", uids, r.Before.UTC())
	if err != nil || len(locked) == 0 {
		return 0, 0, err
	}
	// A writer that adds an event locks the row first, so no event can be added now.
	kept, err := column(ctx, tx, withEvents, locked)
	if err != nil {
		return 0, 0, err
	}
	deletable := slices.DeleteFunc(locked, func(uid string) bool { return slices.Contains(kept, uid) })
	if len(deletable) == 0 {
		return 0, len(kept), nil
	}
	for _, statement := range []string{
		"DELETE FROM " + schema.Quote(r.Kind.LabelsTable()) + " WHERE obj_uid IN (?)",
		"DELETE FROM " + schema.Quote(r.Kind.AnnotationsTable()) + " WHERE obj_uid IN (?)",
		"DELETE FROM " + table + " WHERE uid IN (?)",
	} {
		query, args, err := sqlx.In(statement, deletable)
		if err != nil {
			return 0, 0, err
		}
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return 0, 0, err
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, 0, fmt.Errorf("commit transaction: %w", err)
	}
	return len(deletable), len(kept), nil
}

func column(ctx context.Context, db sqlx.QueryerContext, query string, args ...any) ([]string, error) {
	query, args, err := sqlx.In(query, args...)
	if err != nil {
		return nil, err
	}
	var out []string
	err = sqlx.SelectContext(ctx, db, &out, query, args...)
	return out, err
}
