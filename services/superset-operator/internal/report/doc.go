// Package report turns what the operator sees of a Superset into the observation
// that goes onto the bus and from which the conditions are folded. It is pure.
package report
