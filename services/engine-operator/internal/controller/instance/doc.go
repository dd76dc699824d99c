// Package instance reconciles FireboltInstances: it gives them an id, runs the metadata
// service with a database (an external one, or a PostgreSQL of its own) and the gateway,
// and publishes the endpoints that engines and clients wait for.
//
// The parts are independent. A step that finds trouble records it on its part
// (status.Component) and lets the others go on; only what concerns the whole instance
// ends a pass. What no retry cures is tried again slowly and makes the phase Failed, which
// is left as soon as the cause is gone: the phase follows from what is found, never from
// what was.
//
// Nothing that engines need goes under them: an instance is let go of only when no engine
// refers to it any more, and stops only when its engines have stopped. Nothing that holds
// data is deleted: the volume of the own database and the Secret with its password stay.
// What an earlier operator left running is taken over as it is (package adopt).
package instance
