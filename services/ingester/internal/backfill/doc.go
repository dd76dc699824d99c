// Package backfill rewrites rows from what they hold: after a column or a field was
// added, and for rows that an earlier installation wrote.
//
// The work itself is storage.MetadataStorage.Backfill, which goes by creation time. This
// package drives it over the kinds, keeps to a rate, and remembers how far it came: in
// a state file when one is named, and in the error that ends a run early. A batch that
// was written twice is the same batch, so going on a little too early does no harm.
package backfill
