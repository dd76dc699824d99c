// Package names holds the names and labels of the objects that belong to a
// Superset. They are deterministic: the same Superset always has the same names, so
// a repeated reconcile never creates a second object.
package names
