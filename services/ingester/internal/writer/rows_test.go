package writer_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	lines "github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

func TestCloseRowsClosesGivenVersionOnly(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db)
	for _, uid := range []string{"a", "b", "c"} {
		write(t, w, model(t, uid, uid, 3, record.Live))
	}
	write(t, w, model(t, "c", "c", 4, record.Closed))
	write(t, w, model(t, "d", "d", 5, record.Evicted))
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Lookup("Model")
	row := func(uid string, version int64) lines.Row {
		return lines.Row{UID: uid, Incarnation: 1, ResVersion: version}
	}
	outcomes, err := w.CloseRows(t.Context(), kind, []lines.Row{row("b", 2), row("a", 3), row("c", 4), row("missing", 1), row("a", 3), row("d", 5)})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "outcomes", []writer.Outcome{writer.Stale, writer.Deleted, writer.Unchanged, writer.Unchanged, writer.Unchanged, writer.Stale}, outcomes)
	equal(t, "live rows", []string{"b", "d"}, dbtest.Strings(t, db, "SELECT uid FROM model WHERE delete_time IS NULL ORDER BY uid"))
	equal(t, "events", []string{"a 3 created", "b 3 created", "c 3 created", "c 4 deleted", "d 5 evicted", "a 3 deleted"}, events(t, db))
}
