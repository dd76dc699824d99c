// Package view extracts the displayed fields of a custom resource: phase, version, intent, conditions, components.
//
// It works on unstructured objects, so that the plugin needs no operator's types, works with any release of them, and
// with any set of installed kinds. It does no I/O; [Of] is the entry point. Fields that a status lacks stay empty.
package view
