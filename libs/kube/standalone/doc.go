// Package standalone keeps the conditions of an operator's objects current when no
// status aggregator is alive.
//
// The six ADR027 conditions have exactly one writer at a time. The aggregator
// holds the Lease "flotilla-conditions" and renews it only while it is connected to the
// bus. [LeaseWatcher] watches that Lease: while it has not been renewed for [StaleAfter],
// or it does not exist, [LeaseWatcher.ShouldWrite] is true and [Reporter.Report] computes
// the conditions in this process, with the same pure function and under the same
// field manager, so that a failover in either direction changes nothing: the new writer
// continues from the conditions of the object, and ignores a state of its own that is
// older than they are.
//
// Staleness is measured on this process's clock, from the moment it saw the
// Lease change; the time that the writer put into the Lease is never compared
// with ours. Before the LeaseWatcher declares a Lease stale it reads it once more from
// the API server, so it does not mistake an unavailable API server for a crashed
// aggregator.
package standalone
