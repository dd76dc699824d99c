// Package drain determines when a generation that no longer serves has finished its queries.
//
// A controller calls [Poller], which returns the latest result at once, checks the pods in
// the background, and enqueues the engine when a check has ended. Its state may be lost at
// any time, at the cost of two more checks.
//
// [Prober] runs a check: it reads the two query gauges of the running pods, four pods of a
// generation and sixteen in total at a time, each with a timeout. [Evaluate] decides, and
// is pure: a generation without a running pod is drained, another one after two consecutive samples of zero, the first of
// them at least [Settle] after traffic was routed away from it, so that a query sent through a stale
// address is not cut off. A pod whose engine container is known not to run has no queries, and is
// not scraped. A pod that cannot be queried is not drained; the error is reported, and
// the pod is queried again (specification 001, "Pod readiness and drain checks").
package drain
