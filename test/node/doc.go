// Package node tests the local stack with a real node: that pods run, are found by name, keep their volumes over an
// outage, can be logged into, and that `make down` leaves nothing of it on the machine. `make e2e-node` runs it, as
// root on Linux; it uses a stack of its own.
package node
