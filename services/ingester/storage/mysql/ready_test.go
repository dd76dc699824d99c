package mysql_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// TestReadyRequiresWrites checks readiness on a server that is read-only.
func TestReadyRequiresWrites(t *testing.T) {
	server := mysqltest.PrivateOf(t, mysqltest.MySQL)
	dsn := server.DSN()
	s, err := mysql.Open(context.WithoutCancel(t.Context()), mysql.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := dbtest.Open(t, dsn)
	db.SetMaxOpenConns(1)
	ready(t, s, "")
	exec(t, db, "SET GLOBAL super_read_only = ON")
	ready(t, s, "read-only")
	exec(t, db, "SET GLOBAL super_read_only = OFF")
	exec(t, db, "SET GLOBAL read_only = OFF")
	ready(t, s, "")
	exec(t, db, "RENAME TABLE sparkjob_labels TO elsewhere")
	ready(t, s, "sparkjob_labels")
	exec(t, db, "RENAME TABLE elsewhere TO sparkjob_labels")
	ready(t, s, "")
}

func exec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func ready(t *testing.T, s *mysql.Storage, reason string) {
	t.Helper()
	err := s.Ready(t.Context())
	if reason == "" && err != nil || reason != "" && (err == nil || !strings.Contains(err.Error(), reason)) {
		t.Errorf("ready: %v, want %q", err, reason)
	}
}
