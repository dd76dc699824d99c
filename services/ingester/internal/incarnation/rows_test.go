package incarnation_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// registered holds the incarnations of clusters; 0 means that the cluster is not registered.
type registered struct{ own, other int64 }

func (r registered) store(t *testing.T, db *sql.DB) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "DELETE FROM incarnation"); err != nil {
		t.Fatal(err)
	}
	for uid, n := range map[string]int64{"one": r.own, "two": r.other} {
		if n == 0 {
			continue
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO incarnation (cluster_uid, incarnation, raised_at) VALUES (?, ?, NOW(6))", uid, n); err != nil {
			t.Fatal(err)
		}
	}
}

// TestResolveBumpsAboveRows has a row of incarnation 5, which a leader wrote while the database was replaced.
func TestResolveBumpsAboveRows(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		db := dbtest.Open(t, mysqltest.DSNOf(t, vendor))
		dbtest.Migrate(t, db)
		kinds, err := registry.Load()
		if err != nil {
			t.Fatal(err)
		}
		for state, row := range map[string]stored{
			"live": {}, "closed": {closed: time.Second}, "evicted": {evicted: true},
		} {
			row.uid, row.version, row.incarnation = "u", 10, 5
			row.store(t, db)
			for in, want := range map[registered]int64{
				{}: 6, {own: 1}: 6, {own: 5}: 5, {own: 6}: 6, {other: 4}: 6, {own: 1, other: 4}: 6,
				{other: 7}: 8, {own: 1, other: 5}: 1, // the row is that of the other cluster
			} {
				in.store(t, db)
				for range 2 { // the second time after a restart
					got, err := incarnation.Resolve(t.Context(), db, kinds, "one", at(100), time.Unix(0, 0))
					if err != nil || got != want {
						t.Errorf("%s, %s row, registered %+v: incarnation %d, %v, want %d", vendor, state, in, got, err, want)
					}
				}
			}
		}
	}
}

func TestBumpBumpsAboveRows(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	stored{uid: "u", version: 10, incarnation: 5}.store(t, db)
	for _, tc := range []struct {
		name       string
		registered registered
		was, want  int64
	}{
		{"an older table", registered{own: 1}, 1, 6},
		{"no older table", registered{own: 7}, 7, 8},
		{"bumped meanwhile", registered{own: 2}, 1, 2},
		{"a table older than the leader", registered{own: 1}, 7, 8},
		{"an empty table", registered{}, 7, 8},
		{"another cluster", registered{own: 1, other: 9}, 1, 10},
	} {
		tc.registered.store(t, db)
		for range 2 { // by two leaders
			got, err := incarnation.Bump(t.Context(), db, kinds, "one", tc.was, time.Unix(0, 0))
			if err != nil || got != tc.want {
				t.Errorf("%s: incarnation %d, %v, want %d", tc.name, got, err, tc.want)
			}
		}
	}
}
