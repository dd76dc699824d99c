// Package status computes the status fields that the operator owns, from what it
// decided and what it sees. It is pure; [For] is the entry point.
//
// The result is the whole set of owned fields: what is absent from it is removed
// from the object. Conditions of other managers are therefore never part of it.
package status
