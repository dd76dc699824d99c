// Package writer writes records to MySQL, many at a time.
//
// Callers block in [Writer.Write] until their record is committed or rejected. A few
// slots take the waiting records (package queue): up to 100 records or 4 MiB of one kind
// become one transaction. While the slots are busy records accumulate, so batches grow with
// the load and a single record is written at once.
//
// One transaction (package batch), retried after transient failures (package retry), does in
// this order: lock the rows that exist and decide for each record whether it is new, newer,
// the same or stale (package decision); write the changed rows (package statement); close
// other live rows of the same namespace and name; update labels and annotations by
// difference; add one outbox row for each change; commit. The outbox row therefore exists
// exactly if the change does.
//
// Invariants:
//
//   - A stale record is never written: versions are compared as (incarnation, res_version) under
//     the lock of the row. A row that another writer adds meanwhile fails the insert, and the
//     transaction decides again.
//   - State that MySQL already has is not written, and has no event.
//   - At most one row of a namespace and name is live.
//   - Rows are locked in the order of their uid, so batches do not deadlock; if the
//     server reports a deadlock nevertheless, or the connection breaks, the whole
//     transaction is retried, which is safe because it decides again.
//   - A record that the server rejects for its content fails alone: the batch is
//     split until that record is isolated.
package writer
