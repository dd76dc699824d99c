package incarnation

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// pageRows bounds the rows of one statement, so that a table of any size is read within the
// read timeout of a connection.
const pageRows = 5000

// scan returns the incarnation of the cluster and the newest version of its rows. It locks nothing. All
// reads use one snapshot: versions that are written during the scan may be ahead of the
// cluster's version, which was read before.
func scan(ctx context.Context, db *sql.DB, kinds *registry.Registry, clusterUID string, pageRows int) (own sql.NullInt64, newest int64, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return own, 0, fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { err = withRollback(err, tx.Rollback()) }()
	var highest int64
	if err := tx.QueryRowContext(ctx, readStatement, clusterUID).Scan(&own, &highest); err != nil {
		return own, 0, fmt.Errorf("read incarnation: %w", err)
	}
	if !own.Valid {
		return own, 0, nil
	}
	for _, kind := range kinds.Kinds() {
		version, err := newestVersion(ctx, tx, kind.Table, own.Int64, pageRows)
		if err != nil {
			return own, 0, fmt.Errorf("read newest stored version of %s: %w", kind.Name, err)
		}
		newest = max(newest, version)
	}
	return own, newest, nil
}

// newestVersion returns the newest version of an incarnation in a table. It skips evicted rows, whose
// versions storage may increase. It reads along the primary key, since no index has the versions.
func newestVersion(ctx context.Context, tx *sql.Tx, table string, incarnation int64, pageRows int) (newest int64, err error) {
	query := "SELECT COUNT(*), COALESCE(MAX(uid), ''), COALESCE(MAX(IF(incarnation = ? AND evict_time IS NULL, res_version, NULL)), 0)" +
		" FROM (SELECT uid, incarnation, evict_time, res_version FROM " + schema.Quote(table) + " FORCE INDEX (PRIMARY)" +
		" WHERE uid > ? ORDER BY uid LIMIT ?) AS page"
	for after, count := "", pageRows; count == pageRows; {
		var version int64
		if err := tx.QueryRowContext(ctx, query, incarnation, after, pageRows).Scan(&count, &after, &version); err != nil {
			return 0, err
		}
		newest = max(newest, version)
	}
	return newest, nil
}
