// Package purge deletes rows that were closed long ago, with their labels and
// annotations.
//
// A live row is never deleted, and an evicted row is live. Rows whose change events are
// still pending in the outbox are kept, and so are recently closed rows: a stale copy of
// an object may still be in transit to the database, and only the row shows that it is
// stale.
//
// Each batch is one transaction that locks its rows in the order of their uids, as
// the writer does.
package purge
