// Package batch runs the transactions of the writer.
//
// A batch of records locks the rows that exist and decides for each record ([decision.Decide]),
// upserts rows, closes other live rows of the same name, updates labels and annotations, adds
// outbox rows and commits. The other methods of [Runner] change rows without a record of the
// cluster. Package writer documents the invariants.
package batch
