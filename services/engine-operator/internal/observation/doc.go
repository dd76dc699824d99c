// Package observation converts the result of a reconcile of an engine or an instance into
// the observation that is published on the bus and from which the conditions are computed.
// It is pure.
package observation
