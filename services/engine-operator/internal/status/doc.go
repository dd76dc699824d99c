// Package status says what the operator tells the world about an engine or an
// instance: the status fields that it owns, and the observation that goes to the bus and
// from which the six common conditions follow. It is pure.
package status
