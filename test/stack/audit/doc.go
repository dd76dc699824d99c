// Package audit counts what a service asks of the API server, from the API server's own audit log.
//
// A service's client-side counter misses nothing it sends, but it mixes what a budget is about with leases, watches
// and the filling of caches. The audit log names the user, the verb and the resource of each request, so both kinds
// can be told apart, and it counts what arrived.
package audit
