// Package exposure renders the objects that allow and restrict access to a Superset:
// an Ingress or an HTTPRoute, a ServiceMonitor, and one NetworkPolicy for each
// component.
//
// It reads the spec and the resolved components, and does no I/O. Two of the kinds
// are optional: their CRDs may not be installed, so their objects
// are unstructured and need no registration.
package exposure
