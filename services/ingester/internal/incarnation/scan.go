package incarnation

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// pageRows bounds the rows of one statement, so that a table of any size is read within the
// read timeout of a connection.
const pageRows = 5000

// newestRow holds the highest values of some rows.
type newestRow struct {
	version     int64 // of the rows with the incarnation of the cluster
	incarnation int64 // of all rows
}

func (n *newestRow) add(o newestRow) {
	n.version, n.incarnation = max(n.version, o.version), max(n.incarnation, o.incarnation)
}

// scan returns the incarnation of the cluster, if it is registered, and the newest row. It locks nothing. All
// reads use one snapshot, and come before that of the cluster's version: no version that is read here
// is ahead of it, unless the cluster was restored.
func (t tables) scan(ctx context.Context, clusterUID string) (own sql.NullInt64, newest newestRow, err error) {
	tx, err := t.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return own, newest, fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { err = withRollback(err, tx.Rollback()) }()
	if own, _, err = Stored(ctx, tx, clusterUID, ""); err != nil {
		return own, newest, err
	}
	for _, kind := range t.kinds.Kinds() {
		p := pages{tx: tx, table: schema.Quote(kind.Table), own: own.Int64, rows: t.pageRows}
		if err := p.scan(ctx, &newest); err != nil {
			return own, newest, fmt.Errorf("read newest stored version of %s: %w", kind.Name, err)
		}
	}
	return own, newest, nil
}

// pages reads a table in pages.
type pages struct {
	tx    *sql.Tx
	table string
	own   int64 // the incarnation whose versions are compared
	rows  int   // of a page
}

// scan adds the rows of the table to newest. Of the closed rows it reads those that were closed last: a deletion is a change
// too, so they have the newest versions, except those that a sweep closed. Of the evicted rows it reads the last ones too,
// but not their versions, which storage may increase.
func (p pages) scan(ctx context.Context, newest *newestRow) error {
	closed, _, _, err := p.read(ctx, "delete_time IS NOT NULL AND evict_time IS NULL ORDER BY delete_time DESC")
	if err != nil {
		return err
	}
	evicted, _, _, err := p.read(ctx, "delete_time IS NULL AND evict_time IS NOT NULL ORDER BY evict_time DESC")
	if err != nil {
		return err
	}
	newest.add(closed)
	newest.add(newestRow{incarnation: evicted.incarnation})
	for after, count := "", p.rows; count == p.rows; {
		var live newestRow
		if live, count, after, err = p.read(ctx, "delete_time IS NULL AND evict_time IS NULL AND uid > ? ORDER BY uid", after); err != nil {
			return err
		}
		newest.add(live)
	}
	return nil
}

// read reads one page of the rows that a condition selects in an order, and returns their number and last uid too.
func (p pages) read(ctx context.Context, selected string, args ...any) (newest newestRow, count int, last string, err error) {
	query := "SELECT COUNT(*), COALESCE(MAX(uid), ''), COALESCE(MAX(IF(incarnation = ?, res_version, NULL)), 0), COALESCE(MAX(incarnation), 0)" +
		" FROM (SELECT uid, incarnation, res_version FROM " + p.table + " FORCE INDEX (idx_delete_time_evict_time) WHERE " + selected + " LIMIT ?) AS page"
	args = append(append([]any{p.own}, args...), p.rows)
	err = p.tx.QueryRowContext(ctx, query, args...).Scan(&count, &last, &newest.version, &newest.incarnation)
	return newest, count, last, err
}
