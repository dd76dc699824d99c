// Package engine reconciles FireboltEngines.
//
// It decides nothing about generations itself: package observe reads, package engine
// decides, package render draws, and this package carries the decision out and records
// it. A reconcile is the list of steps in controller.go, followed by one status write and one
// report. It may crash between any two writes: the next reconcile, in this process or in
// another, continues from what the API server holds.
package engine
