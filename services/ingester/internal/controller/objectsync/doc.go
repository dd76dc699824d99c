// Package objectsync keeps MySQL in step with one kind of objects.
//
// There is one controller for each kind, named ingester_<Kind>. It sees objects as
// unstructured content through the manager's cache, lets package decide choose, and
// carries the choice out in an order that is safe to break off anywhere: storage
// first, then our finalizer, then the object itself. Each step is idempotent, so
// after a crash the next reconcile goes on.
//
// Our finalizer is put on and taken off by a merge patch that carries the
// resourceVersion it was decided from; deletions carry uid and resourceVersion as
// preconditions. Whatever changed meanwhile gets a decision of its own.
//
// A failure is tried again after a pause that doubles up to the requeue period. An
// object whose content cannot be stored gets an event that names the field, and is
// tried again when it changes.
package objectsync
