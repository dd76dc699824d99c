package purge

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Between the check of closed rows and their deletion a row may have become live again.
func TestDeleteKeepsRowThatIsLiveAgain(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Lookup("Model")
	if _, err := db.ExecContext(t.Context(), "INSERT INTO model (uid, namespace, name, group_ver, res_version, create_time, update_time, proto, json, delete_time)"+
		" VALUES ('live', 'n', 'a', 'v2', 7, '2026-01-01', '2026-01-01', '', '{}', NULL), ('old', 'n', 'b', 'v2', 7, '2026-01-01', '2026-01-01', '', '{}', '2026-01-01')"); err != nil {
		t.Fatal(err)
	}
	r := Request{Kind: kind, Before: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
	deleted, _, err := r.delete(t.Context(), db, []string{"old", "live"})
	if err != nil || deleted != 1 {
		t.Errorf("%d rows were deleted, %v", deleted, err)
	}
	if left := dbtest.Strings(t, db, "SELECT uid FROM model"); len(left) != 1 || left[0] != "live" {
		t.Errorf("rows left: %v", left)
	}
}
