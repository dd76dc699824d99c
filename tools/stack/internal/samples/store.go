package samples

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Database is the ingester's database.
type Database struct {
	DSN string
}

// noSuchTable is MySQL's error for a table that the ingester's migrations have not created yet.
const noSuchTable = 1146

// Has reports whether the table has a live row with the name.
func (d Database) Has(ctx context.Context, table, namespace, name string) (found bool, err error) {
	db, err := sql.Open("mysql", d.DSN)
	if err != nil {
		return false, fmt.Errorf("open the database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	query := "SELECT COUNT(*) FROM `" + strings.ReplaceAll(table, "`", "``") + "`" +
		" WHERE namespace = ? AND name = ? AND delete_time IS NULL"
	var n int
	err = db.QueryRowContext(ctx, query, namespace, name).Scan(&n)
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && refused.Number == noSuchTable {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find %s/%s in table %s: %w", namespace, name, table, err)
	}
	return n > 0, nil
}
