// Package exposure renders what lets others reach a Superset, and keeps the rest
// out: an Ingress or an HTTPRoute, a ServiceMonitor, and one NetworkPolicy for
// each component.
//
// It reads the spec and the components as they were resolved, and does no I/O.
// Two of the kinds are optional: their definitions may be absent, so their objects
// are unstructured and need no registration.
package exposure
