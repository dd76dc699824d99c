// Package restore writes rows back to a cluster as objects: live ones after a cluster
// was lost, evicted ones when they are wanted again.
//
// A restored object is a new one. What the server owns (uid, versions, times,
// managedFields) is left out, our finalizer is on from the beginning, and the status
// is put back through the status subresource. Owners are pointed at by uid, so each
// is looked up by name; one that is not there is left out, as the garbage collector
// would delete the object at once. The annotation flotilla.dev/restored-from names the
// row that it came from, so a run that was broken off between object and status is
// completed by the next one.
//
// What exists is never changed, so running it again creates nothing twice. When the
// ingester runs afterwards it stores the new objects and closes the old rows, since the
// newer object has the name.
//
// An evicted object comes back without the annotation michelangelo/Immutable, or it
// would be evicted again at once.
package restore
