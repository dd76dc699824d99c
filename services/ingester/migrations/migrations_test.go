package migrations_test

import (
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
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

// forEachVendor runs a test on each of the two servers.
func forEachVendor(t *testing.T, run func(*testing.T, mysqltest.Vendor)) {
	t.Helper()
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) { run(t, vendor) })
	}
}

func up(t *testing.T, db *sql.DB) []string {
	t.Helper()
	report, err := migrations.Up(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return report.Applied
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
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
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
			t.Errorf("verify reports:\n%s", strings.Join(problems, "\n"))
		}
	})
}

func TestConcurrentUp(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		dsn := mysqltest.DSNOf(t, vendor)
		var mu sync.Mutex
		var wg sync.WaitGroup
		count := map[string]int{}
		for range 4 {
			db := open(t, dsn)
			wg.Go(func() {
				report, err := migrations.Up(t.Context(), db)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, name := range report.Applied {
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
	})
}

// TestUpResumesUnrecordedStatement simulates a kill between the statement and its record: the
// table exists, the version is missing.
func TestUpResumesUnrecordedStatement(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
		up(t, db)
		exec(t, db, "DELETE FROM goose_db_version WHERE version_id >= 3")
		exec(t, db, "DROP TABLE outbox")
		if applied := up(t, db); len(applied) == 0 {
			t.Error("the rerun applied nothing")
		}
		if problems := verify(t, db); len(problems) != 0 {
			t.Errorf("verify reports:\n%s", strings.Join(problems, "\n"))
		}
	})
}

func TestOlderReleaseAcceptsNewerSchema(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
		up(t, db)
		exec(t, db, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (90000, 1)")
		exec(t, db, "ALTER TABLE model ADD COLUMN from_the_future INT NULL")
		if applied := up(t, db); len(applied) != 0 {
			t.Errorf("applied %v", applied)
		}
		if problems := verify(t, db); len(problems) != 0 {
			t.Errorf("verify reports:\n%s", strings.Join(problems, "\n"))
		}
	})
}

func TestVerifyNamesDrift(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
		up(t, db)
		exec(t, db, "ALTER TABLE project MODIFY tier VARCHAR(255) CHARACTER SET latin1 NULL")
		exec(t, db, "ALTER TABLE model DROP KEY idx_algorithm")
		exec(t, db, "ALTER TABLE model DROP COLUMN source")
		exec(t, db, "DROP TABLE project_labels")
		exec(t, db, "ALTER TABLE model ALTER COLUMN incarnation DROP DEFAULT")
		exec(t, db, "ALTER TABLE project ADD COLUMN budget INT NOT NULL, ADD COLUMN note INT NULL")
		exec(t, db, "ALTER TABLE revision DROP KEY idx_owner, ADD KEY idx_owner (owner(10), name)")
		want := []string{
			"model: column incarnation has no default, want NOT NULL DEFAULT 0",
			"model: column source is missing",
			"model: index idx_algorithm is missing",
			"model: index idx_source is missing",
			"project: column tier is varchar(255) latin1_swedish_ci null, want int null",
			"project: unknown column budget has no default, so that inserts fail",
			"project_labels: table is missing",
			"revision: index idx_owner covers (owner(10),name), want (owner)",
		}
		if diff := cmp.Diff(want, verify(t, db)); diff != "" {
			t.Errorf("drift (-want +got):\n%s", diff)
		}
		// All migrations can run again, and repair the schema.
		exec(t, db, "DELETE FROM goose_db_version")
		up(t, db)
		if problems := verify(t, db); len(problems) != 0 {
			t.Errorf("problems after the repair:\n%s", strings.Join(problems, "\n"))
		}
	})
}

// TestLateMigrationIsApplied covers a fix for an older release, whose number is below the newest
// one that is applied.
func TestLateMigrationIsApplied(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
		up(t, db)
		exec(t, db, "DELETE FROM goose_db_version WHERE version_id = 5")
		if diff := cmp.Diff([]string{"migration 00005_create_project_labels.sql is pending"}, verify(t, db)); diff != "" {
			t.Errorf("verify (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"00005_create_project_labels.sql"}, up(t, db)); diff != "" {
			t.Errorf("applied (-want +got):\n%s", diff)
		}
	})
}

// TestUpIgnoresKindsOfLaterMigrations adds a kind whose tables a later migration creates.
func TestUpIgnoresKindsOfLaterMigrations(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
		if _, err := migrations.UpWithKind(t.Context(), db, &registry.Kind{Name: "Dataset", Table: "dataset"}); err != nil {
			t.Fatal(err)
		}
		if problems := verify(t, db); len(problems) > 0 {
			t.Errorf("the schema differs: %v", problems)
		}
	})
}
