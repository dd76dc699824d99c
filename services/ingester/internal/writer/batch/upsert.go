package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/retry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// Columns of the main table in the order of an insert. The order of the assignments
// matters: they run from left to right and see each other's results, so everything
// that the guard reads comes last, res_version and incarnation at the very end.
var (
	insertedColumns = []string{"uid", "namespace", "name", "create_time", "group_ver", "update_time", "proto", "json"}
	updatedColumns  = []string{"group_ver", "update_time", "proto", "json"}
	guardColumns    = []string{"evict_time", "delete_time", "res_version", "incarnation"}
)

// guard is true when the new version may replace the row: it is newer, or the same
// version and closes or evicts an open row, or opens a closed one.
const guard = "(VALUES(incarnation) > incarnation OR (VALUES(incarnation) = incarnation AND (VALUES(res_version) > res_version" +
	" OR (VALUES(res_version) = res_version AND IF(delete_time IS NULL," +
	" VALUES(delete_time) IS NOT NULL OR (VALUES(evict_time) IS NOT NULL AND evict_time IS NULL)," +
	" VALUES(delete_time) IS NULL AND VALUES(evict_time) IS NULL)))))"

// upsert writes all changed rows: it updates the locked ones as decided, and inserts the missing
// ones. An insert fails if another writer has added the row meanwhile; then the transaction is
// retried. One statement for both could not distinguish them: it counts
// affected rows in one sum, 1 for each insert and 2 for each update.
func (b *batch) upsert(ctx context.Context) error {
	var existing, added []*change
	for _, c := range b.changes {
		if c.exists {
			existing = append(existing, c)
			continue
		}
		added = append(added, c)
	}
	if len(existing) > 0 {
		affected, err := b.insert(ctx, existing, b.assignments)
		if err != nil {
			return err
		}
		if want := 2 * int64(len(existing)); affected != want {
			return fmt.Errorf("%w: %d rows affected, want %d", retry.ErrRaced, affected, want)
		}
	}
	if len(added) == 0 {
		return nil
	}
	_, err := b.insert(ctx, added, nil)
	var rejected *mysql.MySQLError
	if errors.As(err, &rejected) && rejected.Number == duplicateEntry {
		return fmt.Errorf("%w: %w", retry.ErrRaced, err)
	}
	return err
}

// duplicateEntry is the server's error number for a row whose key exists already.
const duplicateEntry = 1062

// assignments returns the clause that updates an existing row if the guard allows it.
func (b *batch) assignments() string {
	names := append(append([]string{}, updatedColumns...), indexed(b.kind)...)
	names = append(names, guardColumns...)
	list := make([]string, 0, len(names))
	for _, name := range names {
		column := schema.Quote(name)
		list = append(list, column+" = IF("+guard+", VALUES("+column+"), "+column+")")
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(list, ", ")
}

// insert inserts rows and returns the server's count of affected rows. end, if not nil, returns
// the clause for rows that exist.
func (b *batch) insert(ctx context.Context, changes []*change, end func() string) (affected int64, err error) {
	for from, to := range b.statements.Split(len(changes)) {
		n, err := b.insertPart(ctx, changes[from:to], end)
		if err != nil {
			return 0, err
		}
		affected += n
	}
	return affected, nil
}

func (b *batch) insertPart(ctx context.Context, changes []*change, end func() string) (int64, error) {
	columns := len(insertedColumns) + len(b.kind.Columns) + len(guardColumns)
	args := make([]any, 0, len(changes)*columns)
	for _, c := range changes {
		args = append(args, c.UID, c.Namespace, c.Name, c.CreateTime, c.GroupVersion, b.now, c.Proto, c.JSON)
		args = append(args, c.Indexed...)
		args = append(args, c.evictAt, c.deleteAt, c.Version.ResVersion, c.Incarnation)
	}
	name := statement.Name{Table: b.kind.Table, Action: "insert", Rows: len(changes)}
	if end != nil {
		name.Action = "upsert"
	}
	result, err := b.exec(ctx, name, func() string {
		columns := append(append([]string{}, insertedColumns...), indexed(b.kind)...)
		columns = append(columns, guardColumns...)
		text := "INSERT INTO " + schema.Quote(b.kind.Table) + " (" + quoteAll(columns) + ") VALUES " + statement.Tuples(len(changes), len(columns))
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

func quoteAll(names []string) string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, schema.Quote(n))
	}
	return strings.Join(out, ", ")
}
