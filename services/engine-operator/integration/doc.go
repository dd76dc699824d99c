// Package integration tests the complete engine operator against a real control plane
// with simulated nodes: the schema, the phases of an engine, restarts
// in each phase, and the number of requests.
package integration
