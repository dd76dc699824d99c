// Package flux tests the expressions of deploy/flux like Flux evaluates them: in its CEL environment, in the order
// InProgress, Failed, Current, and only for an object whose status has the latest generation.
//
// libs/conditions computes the conditions of the objects, so that the tests fail if a change there requires a change
// of an expression.
package flux
