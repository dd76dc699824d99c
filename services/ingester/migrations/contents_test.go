package migrations_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// cells reads all rows of all tables: "table key column" -> value.
func cells(t *testing.T, db *sql.DB, tables ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range tables {
		cellsOf(t, db, table, out)
	}
	return out
}

func cellsOf(t *testing.T, db *sql.DB, table string, out map[string]string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM `"+table+"`")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, column := range columns {
			out[table+" "+values[0].String+" "+column] = text(values[i])
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// text formats a value; all times after the data was loaded have the same text.
func text(v sql.NullString) string {
	switch {
	case !v.Valid:
		return "NULL"
	case strings.HasPrefix(v.String, "20") && strings.HasSuffix(v.String, "Z") && v.String > "2025":
		return "now"
	}
	return v.String
}

func tablesOf(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return dbtest.Strings(t, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name")
}
