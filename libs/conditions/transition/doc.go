// Package transition keeps the last phase changes of an object in its status.
//
// The operator that owns the phase appends one [Entry] in the same status write that
// changes the phase; the status aggregator reads the list from its watch and publishes
// each entry as a lifecycle event. Seq never repeats and never goes back for one
// object, so a reader can tell which entries it has seen and whether the ring has
// overrun it.
package transition
