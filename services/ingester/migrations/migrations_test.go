package migrations_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

func open(t *testing.T, dsn string) *sql.DB {
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

func up(t *testing.T, db *sql.DB) []string {
	t.Helper()
	applied, err := migrations.Up(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

func exec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func verify(t *testing.T, db *sql.DB) []string {
	t.Helper()
	problems, err := migrations.Verify(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

func TestUpFromEmptyAndTwice(t *testing.T) {
	db := open(t, mysqltest.DSN(t))
	if problems := verify(t, db); len(problems) == 0 {
		t.Error("an empty database has no pending migration")
	}
	states, err := migrations.List(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if applied := up(t, db); len(applied) != len(states) {
		t.Errorf("applied %d migrations, want %d", len(applied), len(states))
	}
	if applied := up(t, db); len(applied) != 0 {
		t.Errorf("the second run applied %v", applied)
	}
	if problems := verify(t, db); len(problems) != 0 {
		t.Errorf("verify says:\n%s", strings.Join(problems, "\n"))
	}
}

func TestUpByFourAtOnce(t *testing.T) {
	dsn := mysqltest.DSN(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	count := map[string]int{}
	for range 4 {
		db := open(t, dsn)
		wg.Go(func() {
			applied, err := migrations.Up(t.Context(), db)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, name := range applied {
				count[name]++
			}
		})
	}
	wg.Wait()
	states, err := migrations.List(t.Context(), open(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, s := range states {
		want[s.Name] = 1
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("how often each migration ran (-want +got):\n%s", diff)
	}
}

// TestKilledHalfway leaves what a kill between the statement and its record leaves:
// the table is there, the version is not.
func TestKilledHalfway(t *testing.T) {
	db := open(t, mysqltest.DSN(t))
	up(t, db)
	exec(t, db, "DELETE FROM goose_db_version WHERE version_id >= 3")
	exec(t, db, "DROP TABLE outbox")
	if applied := up(t, db); len(applied) == 0 {
		t.Error("the rerun applied nothing")
	}
	if problems := verify(t, db); len(problems) != 0 {
		t.Errorf("verify says:\n%s", strings.Join(problems, "\n"))
	}
}

func TestAnOlderReleaseAcceptsANewerSchema(t *testing.T) {
	db := open(t, mysqltest.DSN(t))
	up(t, db)
	exec(t, db, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (90000, 1)")
	exec(t, db, "ALTER TABLE model ADD COLUMN from_the_future INT NULL")
	if applied := up(t, db); len(applied) != 0 {
		t.Errorf("applied %v", applied)
	}
	if problems := verify(t, db); len(problems) != 0 {
		t.Errorf("verify says:\n%s", strings.Join(problems, "\n"))
	}
}

func TestVerifyNamesDrift(t *testing.T) {
	db := open(t, mysqltest.DSN(t))
	up(t, db)
	exec(t, db, "ALTER TABLE project MODIFY tier VARCHAR(255) CHARACTER SET latin1 NULL")
	exec(t, db, "ALTER TABLE model DROP KEY idx_algorithm")
	exec(t, db, "ALTER TABLE model DROP COLUMN source")
	exec(t, db, "DROP TABLE project_labels")
	want := []string{
		"model: column source is missing",
		"model: index idx_algorithm is missing",
		"model: index idx_source is missing",
		"project: column tier is varchar(255) latin1_swedish_ci null, want int null",
		"project_labels: table is missing",
	}
	if diff := cmp.Diff(want, verify(t, db)); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
}
