// Package decision decides what one record changes in the row of its object. It is pure.
package decision

import (
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
)

// Outcome is the result of writing one record.
type Outcome string

// Outcomes of a write.
const (
	Created    Outcome = "created"
	Updated    Outcome = "updated"
	Restored   Outcome = "restored" // a closed row is live again
	Deleted    Outcome = "deleted"
	Evicted    Outcome = "evicted"
	Amended    Outcome = "amended"    // the row of a deleted or evicted object took a newer state of it, without an event
	Unchanged  Outcome = "unchanged"  // MySQL already has the content
	Stale      Outcome = "stale"      // MySQL has a newer version
	Superseded Outcome = "superseded" // stored, but closed at once: a newer object has the name
	// Unconfirmed: the row is closed, and the record may be that of a stale cache.
	Unconfirmed Outcome = "unconfirmed"
	NotFound    Outcome = "not found" // a released object has no row, and gets none
)

// Writes reports whether the outcome needs a write.
func (o Outcome) Writes() bool {
	return o != Unchanged && o != Stale && o != Unconfirmed && o != NotFound
}

// Version orders the states of an object.
type Version struct {
	Incarnation, ResVersion int64
}

// Compare returns -1, 0 or 1 if v is older than, equal to or newer than o.
func (v Version) Compare(o Version) int {
	switch {
	case v.Incarnation != o.Incarnation:
		return sign(v.Incarnation - o.Incarnation)
	default:
		return sign(v.ResVersion - o.ResVersion)
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

// Row is the stored row of an object.
type Row struct {
	Version
	Closed, Evicted bool
	// SameContent reports whether the object of an ended row equals the record's, except for
	// finalizers and version.
	SameContent bool
}

// Ended reports whether the object has left the cluster, or is about to.
func (r *Row) Ended() bool { return r.Closed || r.Evicted }

// Decide returns the outcome of a record with the given row; nil means that there is no row.
// The outcomes for which Writes is true are written.
//
// An ended row takes every newer content, since the API server acknowledges changes of an
// object until the object no longer exists. Its deletion or eviction has one event all the same.
//
// A closed row stays closed for its uid and incarnation: a cache may show the object as it was
// before its deletion, with a version that the row does not have. Only a Confirmed record opens it.
func Decide(row *Row, r *record.Record, v Version) Outcome {
	if row == nil {
		return decideNew(r)
	}
	order := v.Compare(row.Version)
	if (r.State == record.Live || r.State == record.Evicted) && row.Closed && row.Incarnation == v.Incarnation {
		return decideUnconfirmed(order)
	}
	switch r.State {
	case record.Closed:
		return decideClosed(row, v, order)
	case record.Evicted:
		return decideEvicted(row, v, order)
	case record.Released:
		if row.Evicted && !row.Closed {
			return decideEvicted(row, v, order)
		}
		return decideClosed(row, v, order)
	default:
		return decideLive(row, order)
	}
}

func decideUnconfirmed(order int) Outcome {
	if order < 0 {
		return Stale
	}
	return Unconfirmed
}

func decideClosed(row *Row, v Version, order int) Outcome {
	switch {
	case row.Closed && order <= 0:
		return Unchanged
	case order < 0:
		return Stale
	case row.Closed && row.Incarnation == v.Incarnation && row.SameContent:
		return Unchanged
	case row.Closed:
		return Amended
	default:
		return Deleted
	}
}

// decideEvicted decides about a row that is not closed in the record's incarnation. The version
// of an evicted row always rises to that of the object, which proves that nothing newer was
// deleted. It may be above it, since storage counts changes of evicted objects itself.
func decideEvicted(row *Row, v Version, order int) Outcome {
	evicted := row.Evicted && !row.Closed && row.Incarnation == v.Incarnation
	switch {
	case evicted && order <= 0:
		return Unchanged
	case order < 0:
		return Stale
	case evicted && row.SameContent:
		return Amended
	default:
		return Evicted
	}
}

func decideLive(row *Row, order int) Outcome {
	switch {
	case order < 0:
		return Stale
	case row.Closed:
		return Restored
	case order == 0:
		return Unchanged
	default:
		return Updated
	}
}

// decideNew decides about a record without a row. That of a released object does not show whether the row was closed and
// then deleted, or is missing in an older database.
func decideNew(r *record.Record) Outcome {
	switch r.State {
	case record.Released:
		return NotFound
	case record.Evicted:
		return Evicted
	case record.Closed:
		return Deleted
	default:
		return Created
	}
}
