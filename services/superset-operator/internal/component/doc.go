// Package component is the table of the components that a Superset can have.
//
// What differs between the components (name, port, which part of the spec, which
// slot of the status) is in one [Descriptor] each; all other code treats them
// alike. [All] is the order in which they are reconciled.
package component
