// Package incarnation notices that a cluster's resource versions went back.
//
// Versions of objects are compared by resourceVersion. When a cluster is restored
// from a backup, or replaced by a new one, its versions begin again lower than those
// in MySQL, and every write would look stale. The table incarnation holds one number
// for each cluster; it rises when that happens, and versions are compared as
// (incarnation, resourceVersion) from then on.
//
// [Settle] is called once when a process begins to lead, before the first write.
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

// Cluster says which cluster this is and how far it has come.
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
	defer func() {
		if rollback := tx.Rollback(); err != nil && rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, rollback)
		}
	}()
	var known sql.NullInt64
	var newest int64
	if err := tx.QueryRowContext(ctx, "SELECT MAX(IF(cluster_uid = ?, incarnation, NULL)), COALESCE(MAX(incarnation), 0) FROM "+
		schema.IncarnationTable+" FOR UPDATE", cluster.UID).Scan(&known, &newest); err != nil {
		return 0, fmt.Errorf("read incarnation: %w", err)
	}
	current = known.Int64
	raise := !known.Valid
	if !raise {
		ahead, err := newestVersion(ctx, tx, kinds, current)
		if err != nil {
			return 0, err
		}
		raise = ahead > cluster.ResourceVersion
	}
	if !raise {
		return current, nil
	}
	current = newest + 1
	if _, err := tx.ExecContext(ctx, "INSERT INTO "+schema.IncarnationTable+" (cluster_uid, incarnation, raised_at) VALUES (?, ?, ?)"+
		" ON DUPLICATE KEY UPDATE incarnation = VALUES(incarnation), raised_at = VALUES(raised_at)", cluster.UID, current, now.UTC()); err != nil {
		return 0, fmt.Errorf("raise incarnation: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("commit incarnation: %w", err)
	}
	return current, nil
}

func newestVersion(ctx context.Context, tx *sql.Tx, kinds *registry.Registry, incarnation int64) (int64, error) {
	var parts []string
	var args []any
	for _, kind := range kinds.Kinds() {
		parts = append(parts, "SELECT MAX(res_version) AS v FROM "+schema.Quote(kind.Table)+" WHERE incarnation = ?")
		args = append(args, incarnation)
	}
	var newest sql.NullInt64
	query := "SELECT MAX(v) FROM (" + strings.Join(parts, " UNION ALL ") + ") AS newest"
	if err := tx.QueryRowContext(ctx, query, args...).Scan(&newest); err != nil {
		return 0, fmt.Errorf("read the newest stored version: %w", err)
	}
	return newest.Int64, nil
}
