// Package incarnation notices that a cluster's resource versions went back.
//
// Versions of objects are compared by resourceVersion. When a cluster is restored
// from a backup, or replaced by a new one, its versions begin again lower than those
// in MySQL, and every write would look stale. The table incarnation holds one number
// for each cluster; it rises when that happens, and versions are compared as
// (incarnation, resourceVersion) from then on.
//
// [Settle] is called once when a process begins to lead, before the first write. From
// then on [Watch] looks whether the cluster goes back: informers of a process that runs
// during a restore do not see it, since their watches wait for versions above the old
// ones. It raises the incarnation and ends the process, which begins again with fresh
// lists.
package incarnation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// Cluster identifies the cluster and holds its current version.
type Cluster struct {
	// UID of the namespace kube-system: it lasts as long as the cluster.
	UID string
	// ResourceVersion of a fresh list: the newest version of the whole cluster.
	ResourceVersion int64
}

// Settle returns the incarnation to write with. It is raised when the cluster is
// unknown to this database, or when rows of its incarnation are ahead of it.
func Settle(ctx context.Context, db *sql.DB, kinds *registry.Registry, cluster Cluster, now time.Time) (current int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("begin: %w", err)
	}
	defer func() { err = withRollback(err, tx.Rollback()) }()
	known, newest, err := read(ctx, tx, cluster.UID)
	if err != nil {
		return 0, err
	}
	current = known.Int64
	if known.Valid {
		ahead, err := newestVersion(ctx, tx, kinds, current)
		if err != nil {
			return 0, err
		}
		if ahead <= cluster.ResourceVersion {
			return current, nil
		}
	}
	return raise(ctx, tx, cluster.UID, newest+1, now)
}

// Raise raises the incarnation of a restored cluster, unless it is no longer the given one,
// and returns the current one.
func Raise(ctx context.Context, db *sql.DB, clusterUID string, was int64, now time.Time) (current int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("begin: %w", err)
	}
	defer func() { err = withRollback(err, tx.Rollback()) }()
	known, newest, err := read(ctx, tx, clusterUID)
	if err != nil {
		return 0, err
	}
	if known.Valid && known.Int64 != was {
		return known.Int64, nil
	}
	return raise(ctx, tx, clusterUID, newest+1, now)
}

// read locks the table and returns the incarnation of the cluster and the highest of all.
func read(ctx context.Context, tx *sql.Tx, clusterUID string) (known sql.NullInt64, newest int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT MAX(IF(cluster_uid = ?, incarnation, NULL)), COALESCE(MAX(incarnation), 0) FROM "+
		schema.IncarnationTable+" FOR UPDATE", clusterUID).Scan(&known, &newest)
	if err != nil {
		return known, 0, fmt.Errorf("read incarnation: %w", err)
	}
	return known, newest, nil
}

func raise(ctx context.Context, tx *sql.Tx, clusterUID string, to int64, now time.Time) (int64, error) {
	if _, err := tx.ExecContext(ctx, "INSERT INTO "+schema.IncarnationTable+" (cluster_uid, incarnation, raised_at) VALUES (?, ?, ?)"+
		" ON DUPLICATE KEY UPDATE incarnation = VALUES(incarnation), raised_at = VALUES(raised_at)", clusterUID, to, now.UTC()); err != nil {
		return 0, fmt.Errorf("raise incarnation: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("commit incarnation: %w", err)
	}
	return to, nil
}

// withRollback joins the error of a rollback that failed, not of one that came after the end.
func withRollback(err, rollback error) error {
	if err == nil || errors.Is(rollback, sql.ErrTxDone) {
		return err
	}
	return errors.Join(err, rollback)
}

// Current returns the incarnation of a registered cluster.
func Current(ctx context.Context, db *sql.DB, clusterUID string) (current int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT incarnation FROM "+schema.IncarnationTable+" WHERE cluster_uid = ?", clusterUID).Scan(&current)
	if err != nil {
		return 0, fmt.Errorf("read incarnation: %w", err)
	}
	return current, nil
}

// newestVersion leaves out evicted rows: those that live in storage only count their versions themselves.
func newestVersion(ctx context.Context, tx *sql.Tx, kinds *registry.Registry, incarnation int64) (int64, error) {
	var parts []string
	var args []any
	for _, kind := range kinds.Kinds() {
		parts = append(parts, "SELECT MAX(res_version) AS v FROM "+schema.Quote(kind.Table)+" WHERE incarnation = ? AND evict_time IS NULL")
		args = append(args, incarnation)
	}
	var newest sql.NullInt64
	query := "SELECT MAX(v) FROM (" + strings.Join(parts, " UNION ALL ") + ") AS newest"
	if err := tx.QueryRowContext(ctx, query, args...).Scan(&newest); err != nil {
		return 0, fmt.Errorf("read the newest stored version: %w", err)
	}
	return newest.Int64, nil
}
