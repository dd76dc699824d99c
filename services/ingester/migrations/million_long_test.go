//go:build long

package migrations_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

const (
	runsOfAnInsert = 10_000
	// limit is the requirement for limitedRows, and in proportion for others, but at least minRows: with
	// fewer rows the fixed costs of the migrations prevail.
	limit       = 10 * time.Minute
	limitedRows = 1_000_000
	minRows     = 50_000
)

// TestAdoptionOfMillionRows fills an earlier database and adopts it, killed three times
// meanwhile. It prints the speed. FLOTILLA_ROWS is the number of rows, by default 50,000; the limit is
// asserted for all numbers from there on.
func TestAdoptionOfMillionRows(t *testing.T) {
	rows := minRows
	if text := os.Getenv("FLOTILLA_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			dsn := mysqltest.DSNOf(t, vendor)
			db := open(t, dsn)
			load(t, db, "earlier_schema.sql")
			exec(t, db, "CREATE TABLE numbers (n INT PRIMARY KEY)")
			exec(t, db, "INSERT INTO numbers SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n FROM "+digits("a")+", "+digits("b")+", "+digits("c")+", "+digits("d"))
			for from := 0; from < rows; from += runsOfAnInsert {
				fillRuns(t, func(statement string) { exec(t, db, fmt.Sprintf(statement, from)) })
			}
			for _, statements := range []int64{150, 20, 20} {
				killed, _ := openKilled(t, dsn, statements)
				if _, err := migrations.Up(t.Context(), killed); err == nil {
					t.Errorf("it was not killed after %d statements", statements)
				}
				if err := killed.Close(); err != nil {
					t.Logf("close what was killed: %v", err)
				}
			}
			start, lines := time.Now(), 0
			if _, err := migrations.UpWith(t.Context(), db, func(line string) {
				lines++
				t.Logf("%s %s", time.Since(start).Round(time.Second), line)
			}); err != nil {
				t.Fatal(err)
			}
			elapsed := time.Since(start)
			version := dbtest.Strings(t, db, "SELECT VERSION()")[0]
			fmt.Printf("BENCH ingester_take_over_%s %.0f rows/s (%s)\n", vendor, float64(rows)/elapsed.Seconds(), version)
			if allowed := limit / limitedRows * time.Duration(rows); rows >= minRows && elapsed > allowed {
				t.Errorf("%d rows took %s, more than %s", rows, elapsed, allowed)
			}
			if lines == 0 {
				t.Error("there was no progress")
			}
			live := dbtest.Strings(t, db, "SELECT COUNT(*) FROM pipelinerun WHERE delete_time IS NULL")[0]
			marked := dbtest.Strings(t, db, "SELECT COUNT(*) FROM pipelinerun WHERE delete_time IS NULL AND evict_time IS NOT NULL")[0]
			labels := dbtest.Strings(t, db, "SELECT COUNT(*) FROM pipelinerun_labels")[0]
			if live != fmt.Sprint(rows-rows/100) || labels != fmt.Sprint(2*rows) || marked != fmt.Sprint(rows/10) {
				t.Errorf("of %d rows %s are live and %s marked as evicted; %s labels", rows, live, marked, labels)
			}
			if problems := verify(t, db); len(problems) != 0 {
				t.Errorf("verify reports: %v", problems)
			}
		})
	}
}

func digits(alias string) string {
	return "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5" +
		" UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) " + alias
}

// fillRuns adds runs: one in a hundred has the name of another one, one in ten was marked
// as immutable, one in a hundred has a label twice.
func fillRuns(t *testing.T, exec func(statement string)) {
	t.Helper()
	const n, uid = "(n + %[1]d)", "CONCAT('run-', LPAD(n + %[1]d, 8, '0'))"
	exec("INSERT INTO pipelinerun (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json)" +
		" SELECT " + uid + ", 'michelangelo.api/v2', CONCAT('team-', n %% 50), CONCAT('run-', IF(n %% 100 = 99, " + n + " - 50, " + n + ")), " + n +
		", '2024-03-01 10:00:00', '2024-03-02 10:00:00', REPEAT('p', 400), JSON_OBJECT('kind', 'PipelineRun', 'spec', REPEAT('s', 800)) FROM numbers")
	exec("INSERT INTO pipelinerun_labels (obj_uid, `key`, value) SELECT " + uid + ", 'team', 'growth' FROM numbers")
	exec("INSERT INTO pipelinerun_labels (obj_uid, `key`, value) SELECT " + uid + ", 'tier', 'gold' FROM numbers")
	exec("INSERT INTO pipelinerun_labels (obj_uid, `key`, value) SELECT " + uid + ", 'tier', 'silver' FROM numbers WHERE n %% 100 = 0")
	exec("INSERT INTO pipelinerun_annotations (obj_uid, `key`, value) SELECT " + uid + ", IF(n %% 10 = 3, 'michelangelo/Immutable', 'note'), 'true' FROM numbers")
}
