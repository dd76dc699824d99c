// Package status computes the status fields that the operator owns on an engine, an
// instance or a class. It is pure.
package status
