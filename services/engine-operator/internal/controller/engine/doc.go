// Package engine reconciles FireboltEngines.
//
// It makes no decisions about generations: package observe reads the children, package engine
// decides, package render renders, and this package executes the decision and records
// it. A reconcile runs the steps in controller.go, then writes the status and publishes one
// observation. It may crash between any two writes: the next reconcile, in this process or in
// another, continues from the state in the API server.
package engine
