// Package apply writes whole objects with server-side apply: one field manager,
// one controller owner, and no request when nothing would change.
//
// [Applier.Object] takes the desired object from a renderer and the existing one
// from the cache, and
//
//   - creates an object only if its name is free: a name that a foreign object already
//     uses is an error ([ErrNotOwned]), and the object is never adopted;
//   - sends nothing when every desired field has its value and we own these fields and
//     no others; fields that the API server has defaulted do not count;
//   - repairs drift;
//   - removes the fields that the renderer no longer sets, also those that an
//     earlier release wrote with Update ([WithFormerManagers]).
//
// The last applied fields are read from the object's managed fields; no annotation
// records them, since a new or changed annotation increments the generation of
// a Deployment. Where a cache strips managed fields, the process keeps hashes of its
// applies in memory, and applies once more after a restart.
//
// The caller decides what to render and when to delete.
package apply
