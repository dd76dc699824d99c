// Package drain tells when a generation that no longer serves has no queries left.
//
// [Prober] asks every running pod for its two query gauges, in parallel, each within a
// deadline. [Judge] decides, and is pure: a generation is drained after two samples of
// zero in a row, the first of them at least [Settle] after traffic was moved away, so
// that a query sent through a stale address is not cut off. A pod that cannot be asked
// is not drained; it is reported, and asked again.
package drain
