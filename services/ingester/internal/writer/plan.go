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
	// same reports whether the object of an ended row looks like the record's, finalizers
	// and version apart.
	same bool
}

// ended reports whether the object has left the cluster, or is about to.
func (s *stored) ended() bool { return s.closed || s.evicted }

// decide returns the outcome of a record whose row is as given; nil means that there
// is no row. Everything but Unchanged and Stale is written.
//
// An ended row takes every newer content, since the API server acknowledges changes of an
// object until the object is gone. Its deletion or eviction is announced once all the same.
//
// A closed row stays closed for its uid and incarnation, whatever marks the object gets
// while others hold it; only an object that is neither Terminating nor marked reopens it.
func decide(row *stored, r *record.Record, v version) Outcome {
	if row == nil {
		return fresh(r.State)
	}
	order := v.compare(row.version)
	switch r.State {
	case record.Closed:
		return closing(row, v, order)
	case record.Evicted:
		if row.closed && row.incarnation == v.incarnation {
			return closing(row, v, order)
		}
		return evicting(row, v, order)
	case record.Released:
		if row.evicted && !row.closed {
			return evicting(row, v, order)
		}
		return closing(row, v, order)
	default:
		return live(row, order)
	}
}

func closing(row *stored, v version, order int) Outcome {
	switch {
	case row.closed && order <= 0:
		return Unchanged
	case order < 0:
		return Stale
	case row.closed && row.incarnation == v.incarnation && row.same:
		return Unchanged
	case row.closed:
		return Amended
	default:
		return Deleted
	}
}

// evicting decides about a row that is not closed in the record's incarnation. The version
// of an evicted row always rises to that of the object, which proves that nothing newer was
// deleted. It may be above it, since storage counts changes of evicted objects itself.
func evicting(row *stored, v version, order int) Outcome {
	again := row.evicted && !row.closed && row.incarnation == v.incarnation
	switch {
	case again && order <= 0:
		return Unchanged
	case order < 0:
		return Stale
	case again && row.same:
		return Amended
	default:
		return Evicted
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
	case record.Closed, record.Released:
		return Deleted
	case record.Evicted:
		return Evicted
	default:
		return Created
	}
}

// writes reports whether the outcome needs a write.
func (o Outcome) writes() bool { return o != Unchanged && o != Stale }
