package mysqltest_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
)

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
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

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestDatabaseIsEmptyAndSeparate(t *testing.T) {
	first, second := open(t, mysqltest.DSN(t)), open(t, mysqltest.DSN(t))
	exec(t, first, "CREATE TABLE boat (id INT PRIMARY KEY)")
	exec(t, second, "CREATE TABLE boat (id INT PRIMARY KEY)")
	exec(t, first, "INSERT INTO boat VALUES (1)")
	var n int
	if err := second.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM boat").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 0 {
		t.Errorf("%d rows in a fresh database", n)
	}
}

func TestTimesAreUTCInMicroseconds(t *testing.T) {
	db := open(t, mysqltest.DSN(t))
	exec(t, db, "CREATE TABLE log (at DATETIME(6) NOT NULL)")
	at := time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.FixedZone("", 2*60*60))
	exec(t, db, "INSERT INTO log VALUES (?)", at)
	var got time.Time
	if err := db.QueryRowContext(t.Context(), "SELECT at FROM log").Scan(&got); err != nil {
		t.Fatal(err)
	}
	if want := at.UTC().Truncate(time.Microsecond); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	var zone, collation string
	row := db.QueryRowContext(t.Context(), "SELECT @@time_zone, @@collation_connection")
	if err := row.Scan(&zone, &collation); err != nil {
		t.Fatal(err)
	}
	if zone != "+00:00" || collation != "utf8mb4_bin" {
		t.Errorf("time zone %q, collation %q", zone, collation)
	}
}

func TestPrivateServerKeepsDataAcrossRestart(t *testing.T) {
	server := mysqltest.Private(t)
	db := open(t, server.DSN())
	exec(t, db, "CREATE TABLE boat (id INT PRIMARY KEY)")
	exec(t, db, "INSERT INTO boat VALUES (7)")
	server.Stop()
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("a stopped server answers")
	}
	server.Start()
	expect.Eventually(t, expect.Long, func() error {
		var id int
		if err := db.QueryRowContext(t.Context(), "SELECT id FROM boat").Scan(&id); err != nil {
			return err
		}
		if id != 7 {
			return fmt.Errorf("id %d instead of 7", id)
		}
		return nil
	})
}
