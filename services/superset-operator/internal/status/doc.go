// Package status computes the status fields that the operator owns, from its
// decisions and the observed state. It is pure; [For] is the entry point.
//
// The result is the whole set of owned fields: fields absent from it are removed
// from the object. Conditions of other managers are therefore never part of it.
package status
