package writer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

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
	args = b.statements.fill(args)
	query := func() string {
		return "SELECT uid, incarnation, res_version, delete_time IS NOT NULL, evict_time IS NOT NULL FROM " + schema.Quote(b.kind.Table) +
			" FORCE INDEX (PRIMARY) WHERE uid IN " + placeholders(len(args)) + " ORDER BY uid FOR UPDATE"
	}
	out := make(map[string]*stored, len(records))
	err := b.query(ctx, statement{b.kind.Table, "lock", len(args)}, query, args, func(rows *sql.Rows) error {
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

// upsert writes all changed rows: the locked ones by an update, which changes them as
// decided, the missing ones by an insert, which fails if another writer was faster. Then
// the transaction is retried. One statement for both could not distinguish them: it counts
// affected rows in one sum, 1 for each insert and 2 for each update.
func (b *batch) upsert(ctx context.Context) error {
	var known, fresh []*change
	for _, c := range b.changes {
		if c.exists {
			known = append(known, c)
			continue
		}
		fresh = append(fresh, c)
	}
	if len(known) > 0 {
		affected, err := b.insert(ctx, known, b.assignments)
		if err != nil {
			return err
		}
		if want := 2 * int64(len(known)); affected != want {
			return fmt.Errorf("%w: %d rows affected, not %d", errRaced, affected, want)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	_, err := b.insert(ctx, fresh, nil)
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && refused.Number == duplicateEntry {
		return fmt.Errorf("%w: %w", errRaced, err)
	}
	return err
}

// duplicateEntry is the server's error for a row whose key exists already.
const duplicateEntry = 1062

// assignments update a row that exists, where the guard lets them.
func (b *batch) assignments() string {
	names := append(append([]string{}, assigned...), indexed(b.kind)...)
	names = append(names, guarding...)
	list := make([]string, 0, len(names))
	for _, name := range names {
		column := schema.Quote(name)
		list = append(list, column+" = IF("+guard+", VALUES("+column+"), "+column+")")
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(list, ", ")
}

// insert adds rows, by statements that may end in what to do with those that exist, and
// returns the server's count of affected rows.
func (b *batch) insert(ctx context.Context, changes []*change, end func() string) (affected int64, err error) {
	for from, to := range b.statements.cut(len(changes)) {
		n, err := b.insertPart(ctx, changes[from:to], end)
		if err != nil {
			return 0, err
		}
		affected += n
	}
	return affected, nil
}

func (b *batch) insertPart(ctx context.Context, changes []*change, end func() string) (int64, error) {
	columns := len(written) + len(b.kind.Columns) + len(guarding)
	args := make([]any, 0, len(changes)*columns)
	for _, c := range changes {
		args = append(args, c.UID, c.Namespace, c.Name, c.CreateTime, c.GroupVersion, b.now, c.Proto, c.JSON)
		args = append(args, c.Indexed...)
		args = append(args, c.evictAt, c.deleteAt, c.res, c.incarnation)
	}
	name := statement{b.kind.Table, "insert", len(changes)}
	if end != nil {
		name.what = "upsert"
	}
	result, err := b.exec(ctx, name, func() string {
		columns := append(append([]string{}, written...), indexed(b.kind)...)
		columns = append(columns, guarding...)
		text := "INSERT INTO " + schema.Quote(b.kind.Table) + " (" + quoted(columns) + ") VALUES " + tuples(len(changes), len(columns))
		if end != nil {
			text += end()
		}
		return text
	}, args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
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

// tuples returns "(?, ?), (?, ?)" for rows of some columns.
func tuples(rows, columns int) string {
	return strings.TrimSuffix(strings.Repeat(placeholders(columns)+", ", rows), ", ")
}

// each runs a query and scans its rows.
func each(ctx context.Context, tx *sql.Tx, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

// scanAll scans the rows and closes them.
func scanAll(rows *sql.Rows, scan func(*sql.Rows) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
