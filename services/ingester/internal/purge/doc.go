// Package purge deletes rows that were closed long ago, with their labels and
// annotations.
//
// A live row is never deleted, and so no evicted one either. Rows whose change events
// still wait in the outbox are kept, and so is everything that was closed a moment
// ago: an old copy of an object may still be on its way to the database, and with the
// row would go what tells that it is old.
//
// Each batch is one transaction that locks its rows in the order of their uids, as
// the writer does.
package purge
