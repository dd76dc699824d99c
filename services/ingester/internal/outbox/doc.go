// Package outbox publishes change events from the outbox table to the stream
// FLOTILLA_CHANGES.
//
// The writer adds a row for each change in the transaction of the change itself. The
// [Relay] reads rows in the order of their ids, publishes each with the id
// <uid>.<sequence>, and deletes it once the stream has acknowledged it. Every committed
// change is published at least once, also after hours without a bus, and readers
// deduplicate by the id.
//
// Events of one object arrive in order: of each namespace and name at most one event
// is in flight, and the next one waits for its acknowledgment.
//
// An event is not in the stream twice. If the relay, the database or the bus fails between
// storing an event and removing its row, the event is sent again; within ten minutes the
// stream deduplicates it by its id. For longer gaps, a relay that starts, or that had a
// failure, first looks up all rows of a kind that are not newer than its last event: it reads
// the last event of each of their objects from the stream. Ids of one object only rise, so ids up to
// that one are already there. It does so again when the ids of the kind's rows go back, as after a restore
// of the database. Two relays at once, during a failover, send the same ids in the same order. A
// relay that pauses for a minute in the middle of a batch reads from the stream again. It waits
// while the stream is unavailable.
//
// The attribute sequence is computed from the row alone, so it never changes for an id. The clocks
// of two ingesters differ, so the commit time in it is from that of the database server. If that clock
// goes back, the relay first raises the times of the rows in the table to that of the previous row of their kind, or
// of the last event in the stream. It cannot do so if the stream has lost that event by its age, or for a database that was
// replaced by one with lower ids as well, and does not if the clock was wrong by a day or more: then the sequence falls.
//
// A row that cannot be made into a message (its kind is not in the contract) is dropped,
// logged in full as an error, and counted: otherwise it would block all other rows
// permanently.
//
// While the bus denies a subject, the rows of its kind are held, and the other kinds are published: a release can
// add a kind before the servers of the bus grant the permission for it. The relay logs this once for each kind; the
// bus library logs each denied subject. The first row of the kind is sent again every two minutes, and when the bus has
// connected again.
//
// The table is bounded by ten million rows: a day without a bus at a hundred changes a
// second. Beyond that the relay drops events, each time with an error in the log and a count
// in changes_compacted_total: first the oldest ones that a later event of the same object
// supersedes, as far as 200,000 objects of memory show, then simply the oldest.
package outbox
