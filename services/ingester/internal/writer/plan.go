package writer

import (
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
)

// version orders the states of an object.
type version struct {
	incarnation, res int64
}

func (v version) compare(o version) int {
	switch {
	case v.incarnation != o.incarnation:
		return sign(v.incarnation - o.incarnation)
	default:
		return sign(v.res - o.res)
	}
}

func sign(n int64) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// stored is the row as it is.
type stored struct {
	version
	closed, evicted bool
	// same says of a closed row that its object looks like the record's, finalizers
	// and version apart.
	same bool
}

// decide says what becomes of a record whose row is as given; nil means that there
// is no row. Everything but Unchanged and Stale is written.
//
// A row that is already evicted stays as it was when that happened: taking our
// finalizer off makes a new version of the object, which says nothing that would be
// worth keeping. A closed row takes newer versions of an object that others hold back:
// its final state is the last one, and an older live version that comes late must not
// bring it back. A version that only lost finalizers, as one does when we let it go, says
// nothing worth keeping either: the deletion is told once.
func decide(row *stored, r *record.Record, v version) Outcome {
	if row == nil {
		return fresh(r.State)
	}
	order := v.compare(row.version)
	switch r.State {
	case record.Closed:
		if row.closed && order <= 0 {
			return Unchanged
		}
		if order < 0 {
			return Stale
		}
		if row.closed && row.same && row.incarnation == v.incarnation {
			return Unchanged
		}
		return Deleted
	case record.Evicted:
		if row.evicted && !row.closed && row.incarnation == v.incarnation {
			return Unchanged
		}
		if order < 0 {
			return Stale
		}
		if row.closed && order == 0 {
			return Unchanged
		}
		return Evicted
	default:
		return live(row, order)
	}
}

func live(row *stored, order int) Outcome {
	switch {
	case order < 0:
		return Stale
	case order == 0:
		return Unchanged
	case row.closed:
		return Restored
	default:
		return Updated
	}
}

func fresh(s record.State) Outcome {
	switch s {
	case record.Closed:
		return Deleted
	case record.Evicted:
		return Evicted
	default:
		return Created
	}
}

// writes says whether the outcome needs a write.
func (o Outcome) writes() bool { return o != Unchanged && o != Stale }
