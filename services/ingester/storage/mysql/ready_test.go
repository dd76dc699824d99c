package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// TestReadyRequiresWrites checks readiness on a server that is read-only, has no connections left or lacks a table. The
// login is unprivileged: a server that is read-only or full still accepts administrators.
func TestReadyRequiresWrites(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			server := mysqltest.PrivateOf(t, vendor)
			admin := server.DSN()
			db := dbtest.Open(t, admin)
			db.SetMaxOpenConns(1)
			dsn := unprivileged(t, db, admin)
			s := prepared(t, dsn)
			ready(t, s, "")
			exec(t, db, "SET GLOBAL read_only = ON")
			ready(t, s, "read-only")
			exec(t, db, "SET GLOBAL read_only = OFF")
			ready(t, s, "")
			exec(t, db, "SET GLOBAL max_connections = 15")
			free := occupy(t, dsn)
			ready(t, s, "Too many connections")
			free()
			expect.Eventually(t, expect.Long, func() error { return s.Ready(t.Context()) }) // the server ends connections later
			exec(t, db, "RENAME TABLE sparkjob_labels TO elsewhere")
			ready(t, s, "sparkjob_labels")
			exec(t, db, "RENAME TABLE elsewhere TO sparkjob_labels")
			ready(t, s, "")
		})
	}
}

// unprivileged creates a login with all permissions on the database of a DSN only, and returns its DSN.
func unprivileged(t *testing.T, db *sql.DB, dsn string) string {
	t.Helper()
	cfg, err := driver.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Passwd = "ingester", "secret"
	exec(t, db, "CREATE USER 'ingester'@'%' IDENTIFIED BY 'secret'")
	exec(t, db, "GRANT ALL ON `"+cfg.DBName+"`.* TO 'ingester'@'%'")
	return cfg.FormatDSN()
}

// prepared returns the storage of a new database.
func prepared(t *testing.T, dsn string) *mysql.Storage {
	t.Helper()
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
	return s
}

// occupy opens connections until the server rejects one, and returns a function that closes them.
func occupy(t *testing.T, dsn string) (free func()) {
	t.Helper()
	const errTooMany, most = 1040, 100
	db := dbtest.Open(t, dsn)
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(0)
	var conns []*sql.Conn
	free = func() {
		for _, c := range conns {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		conns = nil
	}
	t.Cleanup(free)
	for range most {
		c, err := db.Conn(t.Context())
		if rejected, ok := errors.AsType[*driver.MySQLError](err); ok && rejected.Number == errTooMany {
			return free
		}
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	t.Fatalf("the server accepts %d connections", most)
	return nil
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
