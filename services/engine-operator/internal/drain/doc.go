// Package drain determines when a generation that no longer serves has no queries left.
//
// A controller calls [Poller], which returns the latest result at once, checks the pods in
// the background, and enqueues the engine when a check has ended. Its state may be lost at
// any time, at the cost of two more checks.
//
// [Prober] runs a check: it reads the two query gauges of the running pods, four of a
// generation and sixteen in all at a time, each within a deadline. [Evaluate] decides, and
// is pure: a generation is drained after two samples of zero in a row, the first of them
// at least [Settle] after traffic was moved away, so that a query sent through a stale
// address is not cut off. A pod that cannot be queried is not drained; it is reported, and
// queried again (seed 001, "Pod readiness and drain checks").
package drain
