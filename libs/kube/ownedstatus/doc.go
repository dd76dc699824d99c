// Package ownedstatus writes the status fields that one component owns, beside
// others who write theirs into the same status.
//
// Every write is a server-side apply of the whole set of owned fields. It
// carries the resourceVersion that the decision was made from, so a decision
// from a stale cache never lands ([ErrStale]). Fields of the component that
// somebody else wrote, be it kubectl, a restore or the operator of an earlier
// release under whatever name, are taken back; fields and condition types of other
// components are never touched. When the cached status already has the values and
// nobody else owns any of them, no request is made.
//
// The cache must keep metadata.managedFields of the objects whose status is
// written here: they are the only record of who owns what.
package ownedstatus
