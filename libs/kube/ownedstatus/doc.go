// Package ownedstatus writes the status fields that one component owns, while
// other components write theirs into the same status.
//
// Every write is a server-side apply of the whole set of owned fields. It
// carries the resourceVersion that the decision was made from, so a decision
// from a stale cache is never written ([ErrStale]). It takes back fields of the
// component that another field manager wrote, such as kubectl, a restore or the
// operator of an earlier release under any name; it never changes fields and condition
// types of other components. If the cached status already has the values and no other
// field manager owns any of them, it sends no request.
//
// The cache must keep metadata.managedFields of the objects whose status is
// written here: they are the only record of who owns what.
package ownedstatus
