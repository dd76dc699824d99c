package verify

import (
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

// object is the observed state of an object, without its content.
type object struct {
	uid, namespace, name string
	version              int64
	terminating          time.Time // the deletion timestamp; zero without one
	finalizer            bool      // has our finalizer
	deleting, immutable  bool      // has the annotation
}

// expectation holds the thresholds of the comparison of an object and its row.
type expectation struct {
	incarnation int64
	// minVersion is the minimum version of the row; usually the object's own.
	minVersion int64
	// overdue is the time since when an object must be terminating to count as waiting too long.
	overdue time.Time
}

// finding is a difference without the names of the object.
type finding struct {
	diffType         DifferenceType
	cluster, storage string
}

// diff compares an object with its row. Either may be nil. It is pure.
//
// A foreign finalizer holds an object that is terminating without our finalizer: its
// row has been closed, or marked as evicted, and stays so. An evicted row follows the
// object's version until the object is deleted.
func diff(o *object, r *rows.Row, want expectation) []finding {
	var out []finding
	if o == nil {
		if r != nil && r.Live() && !r.Evicted() {
			out = append(out, finding{Orphan, "no object", describeRow(r)})
		}
		return out
	}
	if diffType := diffState(o, r, want); diffType != "" {
		out = append(out, finding{diffType, o.describe(), describeRow(r)})
	}
	if !o.finalizer && o.terminating.IsZero() {
		out = append(out, finding{Finalizer, o.describe(), describeRow(r)})
	}
	if o.finalizer && !o.terminating.IsZero() && o.terminating.Before(want.overdue) {
		out = append(out, finding{Terminating, o.describe(), describeRow(r)})
	}
	return out
}

// diffState compares the row with an object that exists.
func diffState(o *object, r *rows.Row, want expectation) DifferenceType {
	if !o.terminating.IsZero() && !o.finalizer {
		return diffReleased(r, want)
	}
	switch {
	case r == nil:
		return Missing
	case !r.Live():
		return Closed
	case r.Evicted():
		return Evicted
	case isStale(r, want):
		return Stale
	case r.Incarnation > want.incarnation || (r.Incarnation == want.incarnation && r.ResVersion > o.version):
		return Ahead
	}
	return ""
}

// diffReleased checks the row of an object that only foreign finalizers hold: to the ingester it is deleted.
func diffReleased(r *rows.Row, want expectation) DifferenceType {
	if r != nil && r.Live() && (!r.Evicted() || isStale(r, want)) {
		return Stale
	}
	return ""
}

func isStale(r *rows.Row, want expectation) bool {
	return r.Incarnation < want.incarnation || (r.Incarnation == want.incarnation && r.ResVersion < want.minVersion)
}

func (o *object) describe() string {
	parts := []string{fmt.Sprintf("version %d", o.version)}
	if !o.terminating.IsZero() {
		parts = append(parts, "terminating since "+o.terminating.UTC().Format(time.RFC3339))
	}
	if !o.finalizer {
		parts = append(parts, "without "+api.IngesterFinalizer)
	}
	if o.deleting {
		parts = append(parts, "marked for deletion")
	}
	if o.immutable {
		parts = append(parts, "marked as immutable")
	}
	return strings.Join(parts, ", ")
}

func describeRow(r *rows.Row) string {
	if r == nil {
		return "no row"
	}
	state := "live"
	switch {
	case !r.Live():
		state = "closed " + r.DeleteTime.Time.UTC().Format(time.RFC3339)
	case r.Evicted():
		state = "evicted " + r.EvictTime.Time.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("version %d of incarnation %d, %s", r.ResVersion, r.Incarnation, state)
}
