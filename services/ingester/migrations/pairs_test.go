package migrations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// TestAdoptionRepairsLabelsOfManyObjects repairs more objects than fit one statement, all in one batch. The uids of
// some differ only in case, which the earlier collation ignores.
func TestAdoptionRepairsLabelsOfManyObjects(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
		load(t, db, "earlier_schema.sql")
		var rows, want []string
		add := func(uid, key, value string) { rows = append(rows, fmt.Sprintf("('%s', '%s', %s)", uid, key, value)) }
		for i := range 450 {
			uid := fmt.Sprintf("uid-%03d", i)
			add(uid, "tier", "'silver'")
			add(uid, "tier", "'gold'")
			add(uid, "empty", "NULL")
			want = append(want, uid+" empty=", uid+" tier=gold")
		}
		for _, uid := range []string{"app", "App"} {
			add(uid, "tier", "'"+uid+"'")
			add(uid, "Tier", "'other'")
			want = append(want, uid+" tier="+uid, uid+" Tier=other")
		}
		exec(t, db, "INSERT INTO project_labels (obj_uid, `key`, value) VALUES "+strings.Join(rows, ", "))
		up(t, db)
		slices.Sort(want)
		got := dbtest.Strings(t, db, "SELECT CONCAT(obj_uid, ' ', `key`, '=', value) FROM project_labels")
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		notes := dbtest.Strings(t, db, "SELECT CONCAT_WS(' ', COUNT(*), COUNT(DISTINCT uid), MIN(was), MAX(was)) FROM taken_over WHERE table_name = 'project_labels'")
		if diff := cmp.Diff([]string{"450 450 silver silver"}, notes); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
	})
}
