// Package standalone keeps an operator's objects truthful when no status
// aggregator is at work.
//
// The six ADR027 conditions have exactly one writer at a time. The aggregator
// holds the Lease "flotilla-conditions" and renews it only while it hears the
// bus. [LeaseWatcher] watches that Lease: while nobody has renewed it for [StaleAfter],
// or it does not exist, [LeaseWatcher.ShouldWrite] is true and [Reporter.Report] folds the
// conditions in this process, with the same pure function and under the same
// field manager, so that the hand-over in either direction changes nothing: who takes
// over goes on from the conditions that the object carries, and does not believe a
// memory of its own that is older than they are.
//
// Staleness is measured on this process's clock, from the moment it saw the
// Lease change; the time that the writer put into the Lease is never compared
// with ours. Before the Gate declares a Lease stale it reads it once more from
// the API server, so an API server that was away is not taken for a dead
// aggregator.
package standalone
