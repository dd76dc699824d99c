// Package writer puts records into MySQL, many at a time.
//
// Callers block in [Writer.Write] until their record is committed or refused. A few
// slots take what waits: up to 100 records or 4 MiB of one kind become one
// transaction. While the slots are busy records gather, so batches grow with the
// load and a lone record waits for nobody.
//
// One transaction does, in this order: lock the rows that exist and decide for each
// record whether it is new, newer, the same or stale; write what changed in one
// statement; close other live rows of the same namespace and name; bring labels and
// annotations up to date by difference; add one outbox row for each change; commit.
// The outbox row is therefore there exactly when the change is.
//
// Invariants:
//
//   - A stale record never wins: versions are compared as (incarnation, res_version),
//     in Go under the row lock and again in SQL against a row that appears meanwhile.
//   - What MySQL already has is not written, and gives no event.
//   - At most one row of a namespace and name is live.
//   - Rows are touched in the order of their uid, so batches do not deadlock; should
//     the server see a deadlock all the same, or the connection break, the whole
//     transaction is run again, which is safe because it decides anew.
//   - A record that the server refuses for its content fails alone: the batch is
//     split until the culprit stands by itself.
package writer
