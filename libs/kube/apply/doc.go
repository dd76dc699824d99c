// Package apply writes whole objects with server-side apply: one field manager,
// one controller owner, and no request when nothing would change.
//
// [Applier.Object] takes the desired object as a renderer made it and the
// existing one as the cache has it, and
//
//   - creates only what is absent: a name that somebody else already uses is an
//     error ([ErrNotOwned]), never a takeover;
//   - sends nothing when every desired field has its value and is ours, and
//     nothing else is, whatever the API server has defaulted beside it;
//   - repairs what somebody changed by hand;
//   - removes the fields that the renderer no longer sets, also those that an
//     earlier release wrote with Update ([WithFormerManagers]).
//
// What was applied last is read from the object's managed fields; no annotation
// records it, since an annotation that appears or changes bumps the generation of
// a Deployment. Where a cache strips managed fields, the process remembers what it
// applied, and applies once more after a restart.
//
// It decides nothing else: what to render, and when to delete, is the caller's.
package apply
