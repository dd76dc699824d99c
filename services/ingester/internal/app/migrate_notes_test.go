package app

import (
	"bytes"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// earlierProjects returns a database of an earlier ingester, with live rows of one Project, the newest last.
func earlierProjects(t *testing.T, rows int) *sql.DB {
	t.Helper()
	db := dbtest.Open(t, mysqltest.DSN(t))
	exec := func(statement string, args ...any) {
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE project (uid VARCHAR(255) PRIMARY KEY, namespace VARCHAR(255) NOT NULL, name VARCHAR(255) NOT NULL," +
		" res_version BIGINT UNSIGNED NOT NULL, create_time DATETIME NOT NULL, update_time DATETIME, delete_time DATETIME, json JSON)")
	for n := range rows {
		exec("INSERT INTO project VALUES (?, 'default', 'p', ?, '2024-01-01', '2024-01-01', NULL, '{}')", fmt.Sprintf("u%d", n), n+1)
	}
	return db
}

func TestMigrateListsAdoptionNotes(t *testing.T) {
	db := earlierProjects(t, 2)
	const note = "project default/p (uid u0): closed: the row of uid u1 is newer and was live as well\n"
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
	const rows = 15
	const notes = 2*rows - 1 // each row is filled, and all but the newest of the name are closed
	db := earlierProjects(t, rows)
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
