// Package status keeps the conditions of one object true: from what was heard of
// it, to its entry in the bucket, to events for the world, to its status.
//
// A reconcile is the list [Controller.steps]. What to say is decided by [decide], a
// pure function of the facts that the steps before it gathered; "say nothing" is
// an answer of its own, given whenever what we know may be older than what
// somebody else has said already.
//
// The order of the writes matters: the entry first, which fences and is the outbox
// of the events; then the events; then the status, guarded by the resourceVersion
// that was decided from. Each may fail and is then repeated from the top.
//
// Changes of one object are gathered for a quarter of a second ([Inbox]), so that
// the many events of a roll-out cost few writes.
package status
