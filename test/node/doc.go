// Package node tests the local stack with a real node: pods run, resolve Services by name, keep their volumes across an
// outage and support kubectl exec, and `make down` removes all resources from the machine. `make e2e-node` runs it, as
// root on Linux, with its own stack.
package node
