// Package observation converts the observed state of a Superset into the observation that
// is published on the bus and from which the conditions are computed. It is pure.
package observation
