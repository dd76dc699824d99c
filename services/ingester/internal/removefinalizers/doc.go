// Package removefinalizers removes the ingester's finalizer from every object, before
// the ingester is uninstalled or disabled: otherwise the objects could never be deleted.
//
// It removes only our finalizer, by a patch that carries the version of the decision.
// Rows of terminating objects are closed first if MySQL is available; otherwise the
// command reports how many rows stay live. The ingester has the same order: after the
// patch, the final state could no longer be read. A patch that is rejected leaves the row
// closed, since the deletion cannot be undone; the next run stores later changes.
//
// The command returns an error while an ingester is the leader, which would add the
// finalizers again.
package removefinalizers
