// Package parts holds the parts of the local stack: the control plane, NATS, MySQL and the services. Each knows how to
// start itself unless it already runs as it should, how to stop, and how to tell its state.
//
// Nothing here remembers whether a part runs: each call looks. So a part that died, was killed or was started by an
// earlier `make up` is seen as it is.
package parts
