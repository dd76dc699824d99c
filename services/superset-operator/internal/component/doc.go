// Package component is the table of the components that a Superset can have.
//
// A [Descriptor] holds what differs between the components: the name, the port, the
// part of the spec and the field of the status. All other code treats them alike. [All] is the order in which they are reconciled.
package component
