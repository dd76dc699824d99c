// Package registry lists the kinds whose status the aggregator writes.
//
// A managed kind is a row of [Managed]: nothing else in the service names a kind, so adding
// a kind means adding a row. A row has the kind, its token on the bus, its observer, the
// paths of conditions, phase and transitions in its status, and whether it gets the summary
// condition Ready (kinds whose operator defines none).
package registry
