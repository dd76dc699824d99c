// Package instance reconciles FireboltInstances: it gives them an id, runs the metadata
// service with a database (an external one, or a PostgreSQL of its own) and the gateway,
// and publishes the endpoints that engines and clients wait for.
//
// The parts are independent. A step that finds a failure records it on its part
// (status.Component) and lets the others continue; only what concerns the whole instance
// ends a reconcile. A permanent failure is retried slowly and sets the phase to Failed, which
// ends as soon as the cause is gone: the phase follows from the observed state,
// never from the previous phase.
//
// Engines never lose what they need: the finalizer of an instance is removed only when no
// engine refers to it, and the instance stops only when its engines have stopped. Nothing that holds
// data is deleted: the volume of the own database and the Secret with its password stay.
// Running workloads of an earlier operator are adopted as they are (package adopt).
package instance
