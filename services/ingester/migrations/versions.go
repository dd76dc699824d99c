package migrations

import (
	"context"
	"fmt"

	"github.com/pressly/goose/v3/database"
)

// versionTable is goose's table of applied migrations.
const versionTable = "goose_db_version"

// versions maintains that table like goose, but can be interrupted and run concurrently
// while the table is created: goose itself leaves a table without its first row when it
// is killed between the two, and rejects that table from then on.
type versions struct{ database.Store }

func newVersions() (*versions, error) {
	store, err := database.NewStore(database.DialectMySQL, versionTable)
	if err != nil {
		return nil, fmt.Errorf("create version store: %w", err)
	}
	return &versions{store}, nil
}

// TableExists implements goose's database.StoreExtender.
func (*versions) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables"+
		" WHERE table_schema = DATABASE() AND table_name = '"+versionTable+"'").Scan(&tables); err != nil || tables == 0 {
		return false, err
	}
	var rows int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+versionTable).Scan(&rows)
	return rows > 0, err
}

// CreateVersionTable implements goose's database.Store.
func (*versions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+versionTable+` (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  version_id BIGINT NOT NULL,
  is_applied BOOLEAN NOT NULL,
  tstamp DATETIME NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`)
	return err
}

// first is the version of the row that goose requires in a table without migrations.
const first = 0

// Insert implements goose's database.Store. Of several processes that create the
// table, one writes the first row.
func (v *versions) Insert(ctx context.Context, db database.DBTxConn, req database.InsertRequest) error {
	if req.Version != first {
		return v.Store.Insert(ctx, db, req)
	}
	_, err := db.ExecContext(ctx, "INSERT IGNORE INTO "+versionTable+" (id, version_id, is_applied) VALUES (1, ?, TRUE)", req.Version)
	return err
}
