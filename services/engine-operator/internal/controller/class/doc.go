// Package class reconciles FireboltEngineClasses (reference 2.16): it counts the engines
// of a class, validates its template, and keeps a deleted class until
// its last engine is deleted.
//
// It creates nothing and decides nothing about engines: they read the class themselves.
// Everything follows from watches; an idle class costs no request. A reconcile is the list of
// steps in controller.go, followed by one status write.
package class
