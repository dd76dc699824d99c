// Package dbtest holds the fixtures of the ingester's tests: migrated databases, and objects
// as the API server returns them.
package dbtest

import (
	"database/sql"
	"fmt"
	"strconv"
	"testing"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

// Open opens a database and closes it at the end of the test.
func Open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := database.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Migrated returns a fresh database with the current schema, and its DSN.
func Migrated(t testing.TB) (*sql.DB, string) {
	t.Helper()
	dsn := mysqltest.DSN(t)
	db := Open(t, dsn)
	Migrate(t, db)
	return db, dsn
}

// Migrate applies all migrations to a database.
func Migrate(t testing.TB, db *sql.DB) {
	t.Helper()
	if _, err := migrations.Up(t.Context(), db); err != nil {
		t.Fatal(err)
	}
}

// Model returns a Model of the namespace default.
func Model(name, uid string, version int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "michelangelo.api/v2",
		"kind":       "Model",
		"metadata": map[string]any{
			"name": name, "namespace": "default", "uid": uid,
			"resourceVersion":   strconv.FormatInt(version, 10),
			"generation":        int64(1),
			"creationTimestamp": "2026-11-21T04:42:00Z",
			"labels":            map[string]any{"team": "growth", "version": fmt.Sprint(version), "tier": "gold"},
			"annotations":       map[string]any{"note": "Grüße", "at": fmt.Sprint(version)},
			"finalizers":        []any{"michelangelo/Ingester"},
		},
		"spec": map[string]any{
			"algorithm": fmt.Sprintf("algorithm-%d", version),
			"owner":     map[string]any{"name": "ada"},
			"kind":      "MODEL_KIND_CUSTOM",
		},
	}}
}

// Strings runs a query with one text column, or several joined by CONCAT_WS, and returns its rows.
func Strings(t testing.TB, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	var rows []sql.NullString
	if err := sqlx.NewDb(db, "mysql").SelectContext(t.Context(), &rows, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	var out []string
	for _, s := range rows {
		out = append(out, s.String)
	}
	return out
}

// CountExamined returns a function that returns the number of SELECT statements on a table since the call, and the most
// rows that one of them examined, on average of its repetitions. It requires MySQL: MariaDB does not count by default.
func CountExamined(t testing.TB, db *sql.DB, table string) func() (statements, examined int) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "TRUNCATE performance_schema.events_statements_summary_by_digest"); err != nil {
		t.Fatal(err)
	}
	return func() (statements, examined int) {
		t.Helper()
		err := db.QueryRowContext(t.Context(), "SELECT COALESCE(SUM(count_star), 0),"+
			" COALESCE(MAX(CEIL(sum_rows_examined / count_star)), 0)"+
			" FROM performance_schema.events_statements_summary_by_digest WHERE schema_name = DATABASE() AND digest_text LIKE ?",
			"%SELECT%`"+table+"`%").Scan(&statements, &examined)
		if err != nil {
			t.Fatal(err)
		}
		return statements, examined
	}
}

// CountReads returns a function that returns the number of rows and index entries that the statements since the call have
// read. It limits the pool to one connection, whose session counts them.
func CountReads(t testing.TB, db *sql.DB) func() int {
	t.Helper()
	db.SetMaxOpenConns(1)
	total := func() (n int) {
		t.Helper()
		var counters []struct {
			Name  string `db:"Variable_name"`
			Value int    `db:"Value"`
		}
		if err := sqlx.NewDb(db, "mysql").SelectContext(t.Context(), &counters, "SHOW SESSION STATUS LIKE 'Handler_read%'"); err != nil {
			t.Fatal(err)
		}
		for _, c := range counters {
			n += c.Value
		}
		return n
	}
	before := total()
	return func() int {
		t.Helper()
		return total() - before
	}
}
