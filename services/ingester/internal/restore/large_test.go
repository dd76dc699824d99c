package restore_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// TestRestoreBoundsRowsOfStatement restores the one live row among evicted ones. A single statement would read all of
// them, and exceed the read timeout on a large table.
func TestRestoreBoundsRowsOfStatement(t *testing.T) {
	const limit = 200 // rows of a page
	b := commandtest.NewOf(t, mysqltest.MySQL)
	b.Wipe(b.Stored(b.Project("live")))
	b.Exec("UPDATE project SET uid = CONCAT('z', uid)")
	b.Exec("INSERT INTO project (uid, namespace, name, group_ver, res_version, incarnation, create_time, update_time," +
		" proto, json, evict_time)" +
		" WITH RECURSIVE n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 999)" +
		" SELECT CONCAT('a', i), namespace, CONCAT('n', i), group_ver, 7, incarnation, create_time, update_time," +
		" proto, json, NOW(6) FROM project, n")
	read := dbtest.CountExamined(t, b.DB, "project")
	kinds, _, failure := run(t, newCommand(), b.Env)
	equal(t, "error", "", failure)
	equal(t, "restore", []string{"Project 1 1 0 0 0 0"}, kinds)
	if n, examined := read(); n == 0 || examined > limit {
		t.Errorf("%d statements examined up to %d rows on average, want at most %d", n, examined, limit)
	}
}
