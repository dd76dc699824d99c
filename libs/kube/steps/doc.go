// Package steps runs a reconcile as a visible list of named steps.
//
// A controller declares its order once, as data, and [Run] walks it: guards
// first, one span for each step of a traced reconcile, errors that name the
// step, the shortest requeue wins. A step that returns Stop ends the walk
// without an error, as a guard does that has found nothing to do. A [Tracer]
// begins the reconciles' traces.
//
// Steps share one state value S, a struct that each reconcile makes afresh, so
// that no step hides state in the controller.
package steps
