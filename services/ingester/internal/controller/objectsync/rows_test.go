package objectsync

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

type storedRow struct {
	found, closed, evicted bool
	version                int
	content                string
	collected              bool // the row has the finalizer of the garbage collector
}

func (h *history) row() (r storedRow) {
	h.Helper()
	mark := func(name string) string {
		return "COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.annotations.\"" + name + "\"')), '')"
	}
	err := h.db.QueryRowContext(h.Context(), "SELECT TRUE, delete_time IS NOT NULL, delete_time IS NULL AND evict_time IS NOT NULL, res_version,"+
		" CONCAT_WS(' ', algorithm, "+mark(api.ImmutableAnnotation)+", "+mark(api.DeletingAnnotation)+"),"+
		" json LIKE '%\"orphan\"%' FROM model WHERE uid = ?", h.uid).
		Scan(&r.found, &r.closed, &r.evicted, &r.version, &r.content, &r.collected)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		h.Fatal(err)
	}
	return r
}

// check checks the row of the object.
func (h *history) check() {
	h.Helper()
	row := h.row()
	if h.object == nil && (h.lost || h.unseen) {
		h.checkInOlderDatabase(row)
		return
	}
	if h.object == nil && !row.found && (h.purged || h.lacking) {
		if h.lacking && !h.deleted {
			h.Errorf("the only copy of %s is lost", h.uid)
		}
		return
	}
	if h.object == nil && h.forced {
		h.checkForced()
		return
	}
	if h.object != nil {
		h.Fatalf("seed of %s: the object still exists: %v\n%s", h.uid, h.object.Object["metadata"], strings.Join(h.log, "\n"))
	}
	deleted := h.deleted && (!h.ambiguous || !row.evicted) || h.closedBefore && row.closed
	if row.closed != deleted || row.evicted == deleted {
		h.Errorf("%s deleted by a user: %t, its row is %+v", h.uid, h.deleted, row)
	}
	if row.collected {
		h.Errorf("the row of %s has the finalizer of the garbage collector", h.uid)
	}
	if row.content != h.content {
		h.Errorf("%q was acknowledged, stored is %+v", h.content, row)
	}
	if !h.deleted && row.version < h.precondition {
		h.Errorf("version %d was evicted, stored is %d", h.precondition, row.version)
	}
	// A row that was closed by mistake has further events: deleted, restored.
	n := dbtest.Strings(h, h.db, "SELECT CAST(COALESCE(SUM(FIELD(operation, 'deleted') - FIELD(operation, 'restored')), 0) AS SIGNED) FROM outbox WHERE uid = ?", h.uid)
	if n[0] > "1" && !h.restored {
		h.Errorf("the deletion of %s is published %s times", h.uid, n[0])
	}
}

// purge deletes the closed row of an object that the cache shows as deleted, or held by foreign finalizers only.
func (h *history) purge() {
	h.Helper()
	if row := h.row(); !row.closed || !h.released() {
		return
	}
	h.deliver(len(h.versions))
	h.exec("DELETE FROM model WHERE uid = ?", h.uid)
	h.purged, h.closed = true, false
	h.note("purge")
}

// checkPurged checks that an object whose closed row was deleted is not stored again, unless the database may lack its
// eviction.
func (h *history) checkPurged(row storedRow) {
	h.Helper()
	if !row.found || !h.purged && !h.lacking {
		return
	}
	if complete, err := h.Complete(h.Context()); err == nil && complete {
		h.Errorf("%s, whose closed row was deleted, is stored again: %+v", h.uid, row)
	}
	h.purged, h.lacking, h.ambiguous = false, false, true
}
