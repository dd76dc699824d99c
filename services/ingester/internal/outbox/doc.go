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
// The table is bounded. Beyond a million rows (a long outage) events that a later
// event of the same object supersedes are given up, oldest first; the last event of
// each object always stays. A metric counts them.
package outbox
