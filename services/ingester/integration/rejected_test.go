package integration

import (
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// tooLong is a description that the API server accepts and that exceeds the indexed column.
var tooLong = strings.Repeat("x", 800)

// TestRejectedObjectsCanBeDeleted: an object whose final state cannot be stored must not stay Terminating forever, whether it has a
// row of an earlier state or none.
func TestRejectedObjectsCanBeDeleted(t *testing.T) {
	b := newEnv(t)
	b.start()

	known := b.finalizer(b.create(b.model("known")))
	b.stored(known)
	b.patch(known, `{"spec":{"description":"`+tooLong+`"}}`)
	never := b.model("never")
	never.Object["spec"].(map[string]any)["description"] = tooLong
	never = b.finalizer(b.create(never))
	expect.Eventually(t, expect.Long, func() error { return b.warned(known, "spec.description") })
	expect.Eventually(t, expect.Long, func() error { return b.warned(never, "spec.description") })

	others := b.finalizer(b.create(b.model("others")))
	b.stored(others)

	marked := b.model("marked")
	marked.Object["spec"].(map[string]any)["description"] = tooLong
	marked = b.finalizer(b.create(marked))
	b.patch(marked, annotation("michelangelo/Deleting"))
	b.delete(known)
	b.delete(never)
	b.expectDeleted(known)
	b.expectDeleted(never)
	b.expectDeleted(marked)

	b.row(known, "closed", open)
	b.row(known, "xgboost", "SELECT algorithm FROM model WHERE uid = ?")
	b.events(known, "created", "deleted")
	b.row(never, "0", "SELECT COUNT(*) FROM model WHERE uid = ?")
	b.row(marked, "0", "SELECT COUNT(*) FROM model WHERE uid = ?")
	if n := b.counter("closed_incomplete_total"); n < 3 {
		t.Errorf("%v rows are counted as incomplete, want those of 3 objects", n)
	}
}

// A rejected object is stored once its content is valid.
func TestChangedRejectedObjectIsRetried(t *testing.T) {
	b := newEnv(t)
	b.start()
	m := b.model("churn")
	m.Object["spec"].(map[string]any)["description"] = tooLong
	m = b.finalizer(b.create(m))
	expect.Eventually(t, expect.Long, func() error { return b.warned(m, "spec.description") })
	b.patch(m, `{"spec":{"description":"short"}}`)
	b.stored(m)
	b.row(m, "short", "SELECT description FROM model WHERE uid = ?")
}
