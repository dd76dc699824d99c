// Package class reconciles FireboltEngineClasses (reference 2.16): it counts the engines
// of a class, validates its template, and keeps a deleted class until
// its last engine is deleted.
//
// It creates no objects and makes no decisions for engines: they read the class themselves.
// It is driven by watches; an idle class costs no request. A reconcile runs the
// steps in controller.go and then writes the status once.
package class
