// Package class reconciles FireboltEngineClasses (reference 2.16): it counts the engines
// of a class, reports whether its template is admissible, and keeps a deleted class until
// its last engine is gone.
//
// It makes nothing and decides nothing about engines: they read the class themselves.
// Everything follows from watches; an idle class costs no request. A reconcile is the list of
// steps in controller.go, followed by one status write.
package class
