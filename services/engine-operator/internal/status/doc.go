// Package status computes what the operator reports about an engine or an
// instance: the status fields that it owns, and the observation that is published to the
// bus, from which the six common conditions follow. It is pure.
package status
