// Package steps runs a reconcile as a visible list of named steps.
//
// A controller declares its order once, as data, and [Run] executes it: guards
// first, one span for each step of a traced reconcile, errors that name the
// step, the shortest requeue wins. A step that returns Stop ends the run
// without an error, such as a guard that finds no work. A [Tracer] starts the
// traces of the reconciles.
//
// Steps share one state value S, a struct that each reconcile creates, so
// that no step hides state in the controller.
package steps
