// Package incarnation detects that a cluster was restored to earlier resource versions.
//
// Versions of objects are compared by resourceVersion. When a cluster is restored
// from a backup, or replaced by a new one, its versions are lower than those in MySQL,
// and every write would look stale. The table incarnation holds one number for each
// cluster, which is bumped when that happens; versions are compared as
// (incarnation, resourceVersion).
//
// The table may also be older than the rows: a leader that writes while the database is lost or replaced by an older
// backup stores objects with its own incarnation. Every write with a lower one would look stale, so the
// incarnation is bumped above that of all rows. Rows of another cluster need no bump: their incarnation is registered.
//
// A new leader calls [Resolve] once, before the first write. It reads the cluster's version after the rows: a row that a
// former leader still commits is then not ahead of it. From then on [Watch] detects
// a restore of the cluster: the informers of a running process miss it, since their
// watches wait for versions above the old ones. It bumps the incarnation and ends the
// process, which restarts with fresh lists. A standby is ended in the same way by [Watch.Follow].
package incarnation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Cluster identifies the cluster and holds its current version.
type Cluster struct {
	// UID of the namespace kube-system, which exists as long as the cluster.
	UID string
	// ResourceVersion of a fresh list: the newest version of the whole cluster.
	ResourceVersion int64
}

// Version returns the current version of the cluster; see [ClusterVersion].
type Version func(context.Context) (int64, error)

// Resolve returns the incarnation to write with. It bumps the incarnation if the cluster is
// not registered in this database, if rows of its incarnation are ahead of the cluster, or if rows have a higher
// incarnation than all that are registered.
func Resolve(ctx context.Context, db *sql.DB, kinds *registry.Registry, clusterUID string, version Version, now time.Time) (int64, error) {
	return tables{db, kinds, pageRows}.resolve(ctx, clusterUID, version, now)
}

// tables are the tables of the kinds, and how many rows one statement reads.
type tables struct {
	db       *sql.DB
	kinds    *registry.Registry
	pageRows int
}

// resolve scans the rows before the transaction that locks the incarnations: other processes
// read and bump them meanwhile.
func (t tables) resolve(ctx context.Context, clusterUID string, version Version, now time.Time) (current int64, err error) {
	scanned, rows, err := t.scan(ctx, clusterUID)
	if err != nil {
		return 0, err
	}
	clusterVersion, err := version(ctx)
	if err != nil {
		return 0, err
	}
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { err = withRollback(err, tx.Rollback()) }()
	own, newest, err := Stored(ctx, tx, clusterUID, " FOR UPDATE")
	switch {
	case err != nil:
		return 0, err
	case own != scanned:
		return 0, fmt.Errorf("incarnation changed while rows were read: got %d, want %d", own.Int64, scanned.Int64)
	case own.Valid && rows.version <= clusterVersion && rows.incarnation <= newest:
		return own.Int64, nil
	}
	return bump(ctx, tx, clusterUID, max(newest, rows.incarnation)+1, now)
}

// Bump bumps the incarnation after a restore above the given one, and above those of the rows, unless it is higher than
// the given one already. It returns the current one.
func Bump(ctx context.Context, db *sql.DB, kinds *registry.Registry, clusterUID string, was int64, now time.Time) (current int64, err error) {
	_, rows, err := tables{db, kinds, pageRows}.scan(ctx, clusterUID)
	if err != nil {
		return 0, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("begin transaction: %w", err)
	}
	defer func() { err = withRollback(err, tx.Rollback()) }()
	own, newest, err := Stored(ctx, tx, clusterUID, " FOR UPDATE")
	if err != nil {
		return 0, err
	}
	if own.Valid && own.Int64 > was {
		return own.Int64, nil
	}
	return bump(ctx, tx, clusterUID, max(newest, rows.incarnation, was)+1, now)
}

// Reader is a database or a transaction.
type Reader interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Stored returns the incarnation of the cluster, if it is registered in the database, and the highest of all. lock is
// the locking clause, or empty.
func Stored(ctx context.Context, r Reader, clusterUID, lock string) (own sql.NullInt64, newest int64, err error) {
	err = r.QueryRowContext(ctx, "SELECT MAX(IF(cluster_uid = ?, incarnation, NULL)), COALESCE(MAX(incarnation), 0) FROM "+
		schema.IncarnationTable+lock, clusterUID).Scan(&own, &newest)
	if err != nil {
		return own, 0, fmt.Errorf("read incarnation: %w", err)
	}
	return own, newest, nil
}

func bump(ctx context.Context, tx *sql.Tx, clusterUID string, to int64, now time.Time) (int64, error) {
	if _, err := tx.ExecContext(ctx, "INSERT INTO "+schema.IncarnationTable+" (cluster_uid, incarnation, raised_at) VALUES (?, ?, ?)"+ //nolint:gosec // names of the schema; values are arguments
		" ON DUPLICATE KEY UPDATE incarnation = VALUES(incarnation), raised_at = VALUES(raised_at)", clusterUID, to, now.UTC()); err != nil {
		return 0, fmt.Errorf("bump incarnation: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("commit incarnation: %w", err)
	}
	return to, nil
}

// withRollback joins the error of a failed rollback, unless the transaction had already ended.
func withRollback(err, rollback error) error {
	if err == nil || errors.Is(rollback, sql.ErrTxDone) {
		return err
	}
	return errors.Join(err, rollback)
}
