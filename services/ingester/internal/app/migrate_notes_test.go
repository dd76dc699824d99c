package app

import (
	"bytes"
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
