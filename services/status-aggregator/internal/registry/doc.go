// Package registry lists the kinds whose status the aggregator writes.
//
// A managed kind is a row of [Managed]: nothing else in the service names a
// kind, so that a new one is a new row. A row says which kind it is, by which
// token the bus knows it, which observer speaks for it, where its status keeps
// conditions, phase and transitions, and whether it gets the summary condition
// Ready (kinds whose operator defines none).
package registry
