package statement

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// Placeholders returns "(?, ?, ?)".
func Placeholders(n int) string {
	return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")"
}

// Tuples returns "(?, ?), (?, ?)" for rows with that number of columns.
func Tuples(rows, columns int) string {
	return strings.TrimSuffix(strings.Repeat(Placeholders(columns)+", ", rows), ", ")
}

// Each runs a query in a transaction and scans its rows.
func Each(ctx context.Context, tx *sql.Tx, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

// scanAll scans the rows and closes them.
func scanAll(rows *sql.Rows, scan func(*sql.Rows) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
