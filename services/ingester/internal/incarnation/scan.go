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

// scan returns the incarnation of the cluster and the newest version of its rows. It locks nothing. All
// reads use one snapshot, and come before that of the cluster's version: no version that is read here
// is ahead of it, unless the cluster was restored.
func (t tables) scan(ctx context.Context, clusterUID string) (own sql.NullInt64, newest int64, err error) {
	tx, err := t.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return own, 0, fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { err = withRollback(err, tx.Rollback()) }()
	if own, _, err = Stored(ctx, tx, clusterUID, ""); err != nil || !own.Valid {
		return own, 0, err
	}
	for _, kind := range t.kinds.Kinds() {
		version, err := newestVersion(ctx, tx, kind.Table, own.Int64, t.pageRows)
		if err != nil {
			return own, 0, fmt.Errorf("read newest stored version of %s: %w", kind.Name, err)
		}
		newest = max(newest, version)
	}
	return own, newest, nil
}

// newestVersion returns the newest version of an incarnation in a table. It skips evicted rows, whose
// versions storage may increase. Of the closed rows it reads those that were closed last: a deletion is a change too, so they
// have the newest versions, except those that a sweep closed.
func newestVersion(ctx context.Context, tx *sql.Tx, table string, incarnation int64, pageRows int) (newest int64, err error) {
	selected := "COALESCE(MAX(IF(incarnation = ?, res_version, NULL)), 0) FROM (SELECT uid, incarnation, res_version FROM " +
		schema.Quote(table) + " FORCE INDEX (idx_delete_time_evict_time) WHERE evict_time IS NULL AND "
	query := "SELECT " + selected + "delete_time IS NOT NULL ORDER BY delete_time DESC LIMIT ?) AS page"
	if err := tx.QueryRowContext(ctx, query, incarnation, pageRows).Scan(&newest); err != nil {
		return 0, err
	}
	query = "SELECT COUNT(*), COALESCE(MAX(uid), ''), " + selected + "delete_time IS NULL AND uid > ? ORDER BY uid LIMIT ?) AS page"
	for after, count := "", pageRows; count == pageRows; {
		var version int64
		if err := tx.QueryRowContext(ctx, query, incarnation, after, pageRows).Scan(&count, &after, &version); err != nil {
			return 0, err
		}
		newest = max(newest, version)
	}
	return newest, nil
}
