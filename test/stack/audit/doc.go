// Package audit counts the requests of a service in the audit log of the API server.
//
// The client-side metrics of a service count all requests, also those that are not part of a budget: Leases, watches and
// the lists that fill caches. The audit log has the user, verb and resource of each request, so these can be excluded.
package audit
