// Package sweep closes orphans: live rows whose object is gone from the cluster. They
// come about when our finalizer is taken off by force, when an object goes before it was
// adopted, and when a cluster is restored from a backup.
//
// [Sweeper.Sweep] compares all rows of a kind with a list of its objects. Rows are read
// first, then the objects, as of one resource version and without content: whatever is
// newer than the rows cannot be missed. A row without an object is looked up once more,
// live and by name, and its uid compared, before it is closed as it is.
//
// [Sweeper.Suspect] is the short way: the controllers tell which object they saw go, and
// about a second later its row is looked for. After a normal deletion it is closed
// already, so that no request is made.
//
// Invariants:
//
//   - A row of an evicted object is never closed. Its mark is committed before the
//     object goes, and rows are read again after the object was found to be gone.
//   - A row that changed since it was read stays.
//   - Nothing is closed for a cluster that is not the one that storage belongs to, nor
//     from a list that fails halfway or is older than the rows, nor when more rows would
//     be closed than is likely to be right. See [judge]; each is counted and logged.
//   - An ingester that works in some namespaces closes no rows of others.
//
// A uid is never used twice, so a row whose object is gone is an orphan whatever
// version or incarnation it holds.
package sweep
