package verify_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/command/commandtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/verify"
)

// TestCompareBoundsRowsOfStatement compares a table that is larger than a page. A single statement would exceed the read
// timeout on a large table.
func TestCompareBoundsRowsOfStatement(t *testing.T) {
	const limit = 1001 // rows of a page, and the second one of its last name
	b := commandtest.NewOf(t, mysqltest.MySQL)
	b.Stored(b.Project("live"))
	for _, part := range []struct {
		prefix, namespace string
		rows              int
	}{{"y", "elsewhere", 900}, {"z", b.Namespace, 2400}} {
		b.Exec("INSERT /*+ SET_VAR(cte_max_recursion_depth = 10000) */ INTO project"+
			" (uid, namespace, name, group_ver, res_version, incarnation, create_time, update_time,"+
			" proto, json, evict_time)"+
			" WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < ?)"+
			" SELECT CONCAT(?, i), ?, CONCAT('n', i DIV 2), group_ver, 7, incarnation, create_time, update_time,"+
			" proto, json, NOW(6) FROM project, n WHERE name = 'live'",
			part.rows, part.prefix, part.namespace)
	}
	for name, options := range map[string]verify.Options{
		"without content": {},
		"with content":    {Deep: true},
	} {
		t.Run(name, func(t *testing.T) {
			options.Kinds = []string{"Project"}
			read := dbtest.CountExamined(t, b.DB, "project")
			report, err := verify.Compare(t.Context(), b.Env, options)
			if err != nil {
				t.Fatal(err)
			}
			duplicates := 0
			for _, d := range report.Differences {
				if d.Type == verify.Duplicate {
					duplicates++
				}
			}
			equal(t, "duplicates", 1199, duplicates)
			if n, examined := read(); n == 0 || examined > limit {
				t.Errorf("%d statements examined up to %d rows on average, want at most %d", n, examined, limit)
			}
		})
	}
}
