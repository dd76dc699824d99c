// Package component defines the components of a Superset.
//
// A [Descriptor] holds the differences between components: the name, the port, the part of the spec and the field of
// the status. All other code treats components alike. [All] returns them in the order of the reconcile.
package component
