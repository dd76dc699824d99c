// Package drain tells when a generation that no longer serves has no queries left.
//
// [Poller] is what a controller asks: it answers at once with what is known, checks the
// pods in the background, and enqueues the engine when a look has ended. What it remembers
// may be lost at any time, at the cost of two more looks.
//
// [Prober] is a look: it asks the running pods for their two query gauges, four of a
// generation and sixteen in all at a time, each within a deadline. [Evaluate] decides, and
// is pure: a generation is drained after two samples of zero in a row, the first of them
// at least [Settle] after traffic was moved away, so that a query sent through a stale
// address is not cut off. A pod that cannot be asked is not drained; it is reported, and
// asked again (seed 001, "Pod readiness and drain checks").
package drain
