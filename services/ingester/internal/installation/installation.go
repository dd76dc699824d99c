// Package installation records the name of the cluster that a database belongs to.
//
// Checkpoint, outbox and the rows themselves have no cluster: the ingester of another cluster would close rows whose objects
// it does not find, and publish the change events under its own name. The uid of the cluster does not serve as its
// identity, since a database outlives its cluster: a new cluster of the same name continues with the rows.
package installation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// ErrOtherCluster means that the database belongs to a cluster of another name.
var ErrOtherCluster = errors.New("database belongs to another cluster")

const claimStatement = "INSERT IGNORE INTO " + schema.InstallationTable +
	" (id, cluster_name, recorded_at) VALUES (1, ?, UTC_TIMESTAMP(6))"

// Claim records the name of the cluster if the database has none yet, as after an upgrade. The error is ErrOtherCluster if it
// has another one. Without a name, Claim does nothing.
func Claim(ctx context.Context, db *sql.DB, cluster string) error {
	if cluster == "" {
		return nil
	}
	recorded, err := read(ctx, db)
	if err != nil {
		return err
	}
	if recorded == "" { // of several replicas, and of several clusters, one is the first
		if _, err := db.ExecContext(ctx, claimStatement, cluster); err != nil {
			return fmt.Errorf("record the cluster of the database: %w", err)
		}
	}
	return Check(ctx, db, cluster)
}

// Check is Claim without recording a name.
func Check(ctx context.Context, db *sql.DB, cluster string) error {
	recorded, err := read(ctx, db)
	if err != nil || cluster == "" || recorded == "" || recorded == cluster {
		return err
	}
	return fmt.Errorf("%w: it is that of --cluster-name=%s, got --cluster-name=%s: correct the name or the settings of MySQL; "+
		"if the cluster was renamed or the database copied, follow docs/operations.md#rename-a-cluster",
		ErrOtherCluster, recorded, cluster)
}

// read returns the recorded name, or "".
func read(ctx context.Context, db *sql.DB) (name string, err error) {
	err = db.QueryRowContext(ctx, "SELECT COALESCE(MAX(cluster_name), '') FROM "+schema.InstallationTable).Scan(&name)
	if err != nil {
		return "", fmt.Errorf("read the cluster of the database: %w", err)
	}
	return name, nil
}
