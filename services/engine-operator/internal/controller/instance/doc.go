// Package instance reconciles FireboltInstances: it assigns an id, runs the metadata
// service with an external database or its own PostgreSQL, runs the gateway,
// and publishes the endpoints that engines and clients wait for.
//
// The components are independent. A step that fails records the failure on its component
// (status.Component) and lets the others continue; only a failure of the whole instance
// ends a reconcile. A permanent failure is retried slowly and sets the phase to Failed until
// the cause clears: the phase is computed from the observed state,
// never from the previous phase.
//
// Engines never lose their dependencies: the finalizer of an instance is removed only when no
// engine refers to it, and the instance stops only when its engines have stopped. Data
// is never deleted: the volume of the own database and the Secret with its password stay.
// Running workloads of an earlier operator are adopted as they are (package adopt).
package instance
