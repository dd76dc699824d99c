// Package restore writes rows back to a cluster as objects: live ones after the loss of a
// cluster, evicted ones on request.
//
// A restored object is a new one. The fields that the server sets (uid, versions, times,
// managedFields) are omitted, the object is created with our finalizer, and the status
// is restored through the status subresource. Owner references hold a uid, so each owner
// is looked up by name; an owner that is not found is omitted, since the garbage collector
// would delete the object at once. The annotation flotilla.dev/restored-from names the
// row of the object, so the next run completes one that was interrupted between object
// and status.
//
// An existing object is never changed, so another run creates nothing twice. When the
// ingester runs afterwards, it stores the new objects and closes the old rows, since the
// newer object has the name.
//
// An evicted object is restored without the annotation michelangelo/Immutable, since the
// ingester would otherwise evict it again at once.
package restore
