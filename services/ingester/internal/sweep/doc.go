// Package sweep closes orphans: live rows whose object no longer exists in the cluster.
// They occur when our finalizer is removed by force, when an object is deleted before it
// got the finalizer, and when a cluster is restored from a backup.
//
// [Sweeper.Sweep] compares all rows of a kind with a list of its objects. Rows are read
// first, then the objects, at one resource version and without content: an object that
// is newer than the rows cannot be missed. For a row without an object, the sweep gets
// the object by name from the API server and compares the uid, before it closes the row
// with its stored content.
//
// [Sweeper.AddCandidate] is the short path: the controllers report each deleted object,
// and about a second later the sweeper reads its row. After a normal deletion the row is
// already closed, so that no request is made.
//
// Invariants:
//
//   - A row of an evicted object is never closed. Its mark is committed before the
//     object is deleted, and rows are read again after the object was not found.
//   - A row that changed since it was read stays.
//   - No row is closed if storage belongs to another cluster, if a list fails halfway or
//     is older than the rows, or if the number of rows to close is not plausible. See
//     [checkThresholds]; each case is counted and logged.
//   - An ingester that watches some namespaces closes no rows of others.
//
// A uid is never used twice, so a row whose object no longer exists is an orphan
// whatever version or incarnation it has.
package sweep
