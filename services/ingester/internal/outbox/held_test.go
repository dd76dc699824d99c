package outbox

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
)

// TestReadSkipsRowsOfHeldKinds has many rows of two held kinds, before and after those of two others. Of these it has more than are
// read at once.
func TestReadSkipsRowsOfHeldKinds(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			db := dbtest.Open(t, mysqltest.DSNOf(t, vendor))
			dbtest.Migrate(t, db)
			insertKinds(t, db, []string{"project", "rayjob"}, 4000)
			insertKinds(t, db, []string{"model", "pipeline"}, 2000)
			insertKinds(t, db, []string{"rayjob"}, 4000)
			m, err := metrics.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			r := New(Config{DB: db, Metrics: m, Log: logr.Discard(), Clock: clock.RealClock{}})
			r.held["project"], r.held["rayjob"] = time.Time{}, time.Time{}
			reads := dbtest.CountReads(t, db)
			rows, err := r.read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// Of each of the two kinds as many rows as are read at once: from the table, from the union, and in order.
			if n := reads(); n > 6*window {
				t.Errorf("the server read %d rows, want at most %d", n, 6*window)
			}
			var got, want []int64
			for i, o := range rows {
				got, want = append(got, o.id), append(want, int64(8001+i))
			}
			if diff := cmp.Diff(want, got); diff != "" || len(got) != window {
				t.Errorf("%d ids, want %d (-want +got):\n%s", len(got), window, diff)
			}
			reads = dbtest.CountReads(t, db)
			if rows, err = r.readKind(t.Context(), "model", 0, 1); err != nil || len(rows) != 1 || rows[0].id != 8001 {
				t.Errorf("the first event of a kind: %v, error %v", rows, err)
			}
			if n := reads(); n > window {
				t.Errorf("the server read %d rows for the first event of a kind, want at most %d", n, window)
			}
		})
	}
}

// insertKinds adds n rows of each kind in turn. The ids follow those before.
func insertKinds(t *testing.T, db *sql.DB, kinds []string, n int) {
	t.Helper()
	var values []string
	for range n {
		for _, kind := range kinds {
			values = append(values, "('"+kind+"', 'default', 'o', 'u', 1, 1, 'updated', UTC_TIMESTAMP(6))")
		}
	}
	_, err := db.ExecContext(t.Context(), "INSERT INTO outbox (kind, namespace, name, uid, generation, res_version, operation, committed_at) VALUES "+
		strings.Join(values, ", "))
	if err != nil {
		t.Fatal(err)
	}
}
