// Package objectsync synchronizes the objects of one kind to MySQL.
//
// There is one controller for each kind, named ingester_<Kind>. It reads the
// objects of its informers (package object), lets package decide choose the action, and
// runs it in an order that is safe to interrupt anywhere: storage first, then our
// finalizer, then the object itself. Each step is idempotent, so after a crash the next
// reconcile continues.
//
// A merge patch with the resourceVersion of the decision adds and removes our
// finalizer; deletions carry uid and resourceVersion as preconditions. A concurrent
// change is a conflict, and requeues the object for a new decision.
//
// A failure is retried with a backoff that doubles up to the requeue period. An
// object whose content cannot be stored gets an event that names the field, and is
// retried when it changes.
package objectsync
