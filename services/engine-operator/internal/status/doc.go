// Package status computes what the operator reports about an engine or an
// instance: the status fields that it owns, and the observation that goes to the bus and
// from which the six common conditions follow. It is pure.
package status
