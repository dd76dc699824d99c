// Package instance reconciles FireboltInstances: it gives them an id, runs the metadata
// service with a database (an external one, or a PostgreSQL of its own), and publishes
// the endpoint that engines wait for.
//
// An instance is let go of only when no engine refers to it any more, and stops only
// when its engines have stopped. The volume of its own database is never deleted.
package instance
