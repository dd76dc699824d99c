// Package rows reads the rows of a kind without their content: identity, version and
// state, for the sweep and the commands verify, checkpoint and restore.
package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Row is one row of a main table.
type Row struct {
	UID         string       `db:"uid"`
	Namespace   string       `db:"namespace"`
	Name        string       `db:"name"`
	ResVersion  int64        `db:"res_version"`
	Incarnation int64        `db:"incarnation"`
	CreateTime  time.Time    `db:"create_time"`
	UpdateTime  time.Time    `db:"update_time"`
	DeleteTime  sql.NullTime `db:"delete_time"`
	EvictTime   sql.NullTime `db:"evict_time"`
}

// Live reports whether the row is not closed.
func (r Row) Live() bool { return !r.DeleteTime.Valid }

// Evicted reports whether the object was evicted from the cluster.
func (r Row) Evicted() bool { return r.EvictTime.Valid }

// State selects rows.
type State string

// States of rows.
const (
	All       State = ""
	InCluster State = "delete_time IS NULL AND evict_time IS NULL" // live, and expected in the cluster
	Evicted   State = "delete_time IS NULL AND evict_time IS NOT NULL"
	Open      State = "delete_time IS NULL"
	Closed    State = "delete_time IS NOT NULL"
)

// Query selects rows of a kind.
type Query struct {
	State State
	// Namespaces to read; none means all.
	Namespaces []string
	// Names to read; none means all.
	Names []string
	// UIDs to read; none means all.
	UIDs []string
	// After is the uid after which to continue, in the order of the uids.
	After string
	// Limit is the maximum number of rows; zero means 1000.
	Limit int
	// walk makes Page read the rows in the order of their uids, by no other index, up to until; empty means all.
	walk  bool
	until string
}

const pageRows = 1000

const columns = "uid, namespace, name, res_version, incarnation, create_time, update_time, delete_time, evict_time"

// Page returns the next rows in the order of their uids. Fewer rows than the limit are the last page.
func Page(ctx context.Context, db *sql.DB, kind *registry.Kind, q Query) ([]Row, error) {
	if q.Limit == 0 {
		q.Limit = pageRows
	}
	where, args := "uid > ?", []any{q.After}
	if q.until != "" {
		where, args = where+" AND uid <= ?", append(args, q.until)
	}
	if q.State != All {
		where += " AND " + string(q.State)
	}
	if len(q.Namespaces) > 0 {
		where, args = where+" AND namespace IN (?)", append(args, q.Namespaces)
	}
	if len(q.Names) > 0 {
		where, args = where+" AND name IN (?)", append(args, q.Names)
	}
	if len(q.UIDs) > 0 {
		where, args = where+" AND uid IN (?)", append(args, q.UIDs)
	}
	table := schema.Quote(kind.Table)
	if q.walk {
		index, _ := q.order()
		table += " FORCE INDEX (" + index + ")"
	}
	query, args, err := sqlx.In("SELECT "+columns+" FROM "+table+" WHERE "+where+" ORDER BY uid LIMIT ?", append(args, q.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("query rows of %s: %w", kind.Name, err)
	}
	var out []Row
	if err := sqlx.NewDb(db, "mysql").SelectContext(ctx, &out, query, args...); err != nil {
		return nil, fmt.Errorf("read rows of %s: %w", kind.Name, err)
	}
	return out, nil
}

// Each calls f for every row that matches the query, page by page. An error of f ends the walk.
func Each(ctx context.Context, db *sql.DB, kind *registry.Kind, q Query, f func(Row) error) error {
	return Pages(ctx, db, kind, q, func(page []Row) error {
		for _, row := range page {
			if err := f(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pages calls f for every page of the rows that match the query; one may be empty. An error of f ends the walk.
func Pages(ctx context.Context, db *sql.DB, kind *registry.Kind, q Query, f func([]Row) error) error {
	if q.Limit == 0 {
		q.Limit = pageRows
	}
	for {
		if err := q.bound(ctx, db, kind); err != nil {
			return err
		}
		page, err := Page(ctx, db, kind, q)
		if err != nil {
			return err
		}
		if err := f(page); err != nil {
			return err
		}
		switch {
		case len(page) == q.Limit: // the table may have new rows before the last uid
			q.After = page[len(page)-1].UID
		case q.until == "":
			return nil
		default:
			q.After = q.until
		}
	}
}

// order returns an index that has rows in the order of their uids, as all of InnoDB's end in the primary key, and the
// condition for those rows.
func (q *Query) order() (index, condition string) {
	switch q.State {
	case InCluster:
		return "idx_delete_time_evict_time", string(InCluster)
	case Evicted, Open:
		return "idx_delete_time", string(Open)
	default:
		return "PRIMARY", "TRUE"
	}
}

// bound sets the last uid of the next page, so that one statement reads no more rows than a page has also if few of
// them match. The names of a namespace and uids select by an index.
func (q *Query) bound(ctx context.Context, db *sql.DB, kind *registry.Kind) error {
	q.walk, q.until = false, ""
	if q.State == All && len(q.Namespaces)+len(q.Names) == 0 || len(q.Namespaces) > 0 && len(q.Names) > 0 || len(q.UIDs) > 0 {
		return nil
	}
	q.walk = true
	index, condition := q.order()
	query := "SELECT uid FROM " + schema.Quote(kind.Table) + " FORCE INDEX (" + index + ") WHERE uid > ? AND " + condition + " ORDER BY uid LIMIT 1 OFFSET ?"
	if err := db.QueryRowContext(ctx, query, q.After, q.Limit-1).Scan(&q.until); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("read uids of %s: %w", kind.Name, err)
	}
	return nil
}
