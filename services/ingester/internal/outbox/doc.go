// Package outbox carries change events from the outbox table to the stream
// FLOTILLA_CHANGES.
//
// The writer adds a row for each change in the transaction of the change itself. The
// [Relay] reads rows in the order of their ids, publishes each with the id
// <uid>.<outbox id>, and deletes it once the stream has acknowledged it. So every
// committed change arrives at least once, also after hours without a bus, and
// readers tell duplicates by the id.
//
// Events of one object arrive in order: of each namespace and name at most one event
// is in flight, and the next one waits for its acknowledgement.
//
// An event is not in the stream twice. One that was stored but not removed, because the
// relay, the database or the bus went away in between, is sent again; within ten minutes
// the stream knows its id and drops it. For what lasts longer a relay that begins, or
// that had a failure, first asks the stream for the last event of each object of its
// first rows: ids of one object only rise, so what is not above that is there already.
// Two relays at once, for a moment of two leaders, send the same ids in the same order.
// A relay that stands still for a minute in the middle of a round asks again. A stream that
// does not answer the question is waited for.
//
// The attribute sequence follows from the row alone, so the same id has the same one for ever.
//
// A row that no message can be made of (a kind that the contract does not know) is
// dropped, with an error in the log that says all of it, and counted: it would block all
// others for ever.
//
// The table is bounded, by ten million rows: a day of an absent bus at a hundred changes
// a second. Beyond that events are given up, each time with an error in the log and a count
// in changes_compacted_total: oldest first those that a later event of the same object
// supersedes, as far as 200,000 objects of memory show, then simply the oldest.
package outbox
