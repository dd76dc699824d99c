package writer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// lock reads and locks the rows that exist. The index is forced: on a small table
// the server might read all rows instead, and then wait for rows of other batches.
func (b *batch) lock(ctx context.Context, records []*record.Record) (map[string]*stored, error) {
	args := make([]any, 0, len(records))
	for _, r := range records {
		args = append(args, r.UID)
	}
	query := "SELECT uid, incarnation, res_version, delete_time IS NOT NULL, evict_time IS NOT NULL FROM " + schema.Quote(b.kind.Table) +
		" FORCE INDEX (PRIMARY) WHERE uid IN " + placeholders(len(args)) + " ORDER BY uid FOR UPDATE"
	out := make(map[string]*stored, len(records))
	err := each(ctx, b.tx, query, args, func(rows *sql.Rows) error {
		var uid string
		var s stored
		if err := rows.Scan(&uid, &s.incarnation, &s.res, &s.closed, &s.evicted); err != nil {
			return err
		}
		out[uid] = &s
		return nil
	})
	return out, err
}

// Columns of the main table in the order of [values]. The order of the assignments
// matters: they run from left to right and see each other's results, so everything
// that the guard reads comes last, res_version and incarnation at the very end.
var (
	written  = []string{"uid", "namespace", "name", "create_time", "group_ver", "update_time", "proto", "json"}
	assigned = []string{"group_ver", "update_time", "proto", "json"}
	guarding = []string{"evict_time", "delete_time", "res_version", "incarnation"}
)

// guard is true when the new version may replace the row: it is newer, or the same
// version and closes or evicts an open row.
const guard = "(VALUES(incarnation) > incarnation OR (VALUES(incarnation) = incarnation AND (VALUES(res_version) > res_version" +
	" OR (VALUES(res_version) = res_version AND delete_time IS NULL" +
	" AND (VALUES(delete_time) IS NOT NULL OR (VALUES(evict_time) IS NOT NULL AND evict_time IS NULL))))))"

// upsert writes all changed rows in one statement. Rows that existed are locked,
// so they change as decided. A row that appeared since shows in the count of
// affected rows, 1 for each insert and 2 for each update; the transaction is then
// run again, and the guard is what keeps the statement itself from doing harm.
func (b *batch) upsert(ctx context.Context) error {
	columns := append(append([]string{}, written...), indexed(b.kind)...)
	columns = append(columns, guarding...)
	assignments := append(append([]string{}, assigned...), indexed(b.kind)...)
	assignments = append(assignments, guarding...)

	var q strings.Builder
	q.WriteString("INSERT INTO " + schema.Quote(b.kind.Table) + " (" + quoted(columns) + ") VALUES ")
	row := placeholders(len(columns))
	args := make([]any, 0, len(b.changes)*len(columns))
	expected := int64(0)
	for i, c := range b.changes {
		if i > 0 {
			q.WriteString(", ")
		}
		q.WriteString(row)
		args = append(args, c.UID, c.Namespace, c.Name, c.CreateTime, c.GroupVersion, b.now, c.Proto, c.JSON)
		args = append(args, c.Indexed...)
		args = append(args, c.evictAt, c.deleteAt, c.res, c.incarnation)
		expected++
		if c.exists {
			expected++
		}
	}
	q.WriteString(" ON DUPLICATE KEY UPDATE ")
	for i, name := range assignments {
		if i > 0 {
			q.WriteString(", ")
		}
		column := schema.Quote(name)
		q.WriteString(column + " = IF(" + guard + ", VALUES(" + column + "), " + column + ")")
	}
	result, err := b.tx.ExecContext(ctx, q.String(), args...)
	if err != nil {
		return err
	}
	affected, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if affected != expected {
		return fmt.Errorf("%w: %d rows affected, not %d", errRaced, affected, expected)
	}
	return nil
}

func indexed(kind *registry.Kind) []string {
	out := make([]string, 0, len(kind.Columns))
	for _, c := range kind.Columns {
		out = append(out, c.Name)
	}
	return out
}

func quoted(names []string) string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, schema.Quote(n))
	}
	return strings.Join(out, ", ")
}

// placeholders returns "(?, ?, ?)".
func placeholders(n int) string {
	return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")"
}

// each runs a query and scans its rows.
func each(ctx context.Context, tx *sql.Tx, query string, args []any, scan func(*sql.Rows) error) (err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
