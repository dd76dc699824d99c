// Package components holds the components of the local stack: the control plane, NATS, MySQL and the services. Each
// can start itself unless it already runs with the current configuration, stop, and report its state.
//
// Nothing here stores whether a component runs: each call checks it. So a component that crashed, was killed or was
// started by an earlier `make up` is reported correctly.
package components
