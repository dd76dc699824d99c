// Package backfill rewrites rows from their own content: after a column or a field was
// added, and for rows that an earlier installation wrote.
//
// storage.MetadataStorage.Backfill does the work, in the order of creation time. This
// package calls it for each kind, limits the rate, and records the progress: in a state
// file if one is named, and in the error that ends a run early. Batches are idempotent,
// so a run may resume before the last finished row.
package backfill
