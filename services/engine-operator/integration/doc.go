// Package integration tests the engine operator as a whole against a real control plane
// with simulated nodes: the schema, the walk of an engine through its phases, restarts
// in the middle, and what all of it costs in requests.
package integration
