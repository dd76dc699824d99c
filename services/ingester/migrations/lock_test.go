package migrations_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

// TestPendingMigrationBlocksNoWrites has the database of the previous release, and an open transaction
// that has read the outbox. Writes of a replica of that release continue.
func TestPendingMigrationBlocksNoWrites(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		dsn := mysqltest.DSNOf(t, vendor)
		leader, migrating := open(t, dsn), open(t, dsn)
		migrating.SetMaxOpenConns(1) // so that its session can be examined
		up(t, leader)
		exec(t, leader, "ALTER TABLE outbox DROP KEY idx_uid, DROP KEY idx_kind")
		exec(t, leader, "DELETE FROM goose_db_version WHERE version_id = 46")
		const timeout = "SELECT @@SESSION.lock_wait_timeout"
		before := dbtest.Strings(t, migrating, timeout)

		holder, err := leader.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := holder.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM outbox").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := migrations.UpWithTableWait(t.Context(), migrating, 3)
			done <- err
		}()
		expect.Eventually(t, expect.Long, func() error {
			now := running(t, leader)
			if len(done) == 0 && !strings.Contains(strings.Join(now, "\n"), "metadata lock") {
				return fmt.Errorf("no migration waits for the table, the server runs %q", now)
			}
			return nil
		})
		exec(t, leader, "INSERT INTO outbox (kind, namespace, name, uid, generation, res_version, operation, committed_at)"+
			" VALUES ('model', 'default', 'o', 'u', 1, 1, 'updated', UTC_TIMESTAMP(6))")
		if err := <-done; database.Classify(err) != database.Contention {
			t.Errorf("migration of a table in use: %v, want error 1205", err)
		}
		if diff := cmp.Diff(before, dbtest.Strings(t, migrating, timeout)); diff != "" {
			t.Errorf("lock_wait_timeout of the pool (-before +after):\n%s", diff)
		}

		if err := holder.Rollback(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"00046_add_outbox_indexes.sql"}, up(t, migrating)); diff != "" {
			t.Errorf("applied after the transaction (-want +got):\n%s", diff)
		}
		if problems := verify(t, leader); len(problems) != 0 {
			t.Errorf("verify reports:\n%s", strings.Join(problems, "\n"))
		}
	})
}
