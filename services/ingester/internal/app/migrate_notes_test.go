package app

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

func TestMigrateListsAdoptionNotes(t *testing.T) {
	db := dbtest.Open(t, mysqltest.DSN(t))
	for _, statement := range []string{
		"CREATE TABLE project (uid VARCHAR(255) PRIMARY KEY, namespace VARCHAR(255) NOT NULL, name VARCHAR(255) NOT NULL," +
			" res_version BIGINT UNSIGNED NOT NULL, create_time DATETIME NOT NULL, update_time DATETIME, delete_time DATETIME, json JSON)",
		"INSERT INTO project VALUES ('a', 'default', 'p', 1, '2024-01-01', '2024-01-01', NULL, '{}'), ('b', 'default', 'p', 2, '2024-01-01', '2024-01-01', NULL, '{}')",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	const note = "project default/p (uid a): closed: the row of uid b is newer and was live as well\n"
	for _, step := range []struct{ command, want string }{
		{"up", "noted " + note},
		{"status", "noted    " + note},
	} {
		var out bytes.Buffer
		if err := migrateCommand(t.Context(), db, step.command, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), step.want) {
			t.Errorf("%s printed %q, want %q in it", step.command, out.String(), step.want)
		}
	}
}

func TestMigrateUpLimitsAdoptionNotes(t *testing.T) {
	db := dbtest.Open(t, mysqltest.DSN(t))
	statements := []string{
		"CREATE TABLE project (uid VARCHAR(255) PRIMARY KEY, namespace VARCHAR(255) NOT NULL, name VARCHAR(255) NOT NULL," +
			" res_version BIGINT UNSIGNED NOT NULL, create_time DATETIME NOT NULL, update_time DATETIME, delete_time DATETIME, json JSON)",
	}
	const objects = 15
	const notes = 2*objects - 1 // each row is filled, and all but the newest of the name are closed
	for n := range objects {
		statements = append(statements, fmt.Sprintf("INSERT INTO project VALUES ('u%d', 'default', 'p', %d, '2024-01-01', '2024-01-01', NULL, '{}')", n, n+1))
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		command string
		notes   int
		more    bool
	}{{"up", maxPrintedNotes, true}, {"status", notes, false}} {
		var out bytes.Buffer
		if err := migrateCommand(t.Context(), db, step.command, &out); err != nil {
			t.Fatal(err)
		}
		printed := strings.Count(out.String(), "project default/p (uid ")
		more := strings.Contains(out.String(), fmt.Sprintf("noted %d more: ingester migrate status lists all\n", notes-maxPrintedNotes))
		if printed != step.notes || more != step.more {
			t.Errorf("%s printed %d notes, more: %t, want %d and %t:\n%s", step.command, printed, more, step.notes, step.more, out.String())
		}
	}
}
