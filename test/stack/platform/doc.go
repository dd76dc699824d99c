// Package platform runs the local stack for the whole-stack test, and reads its state. It starts the stack with make up in a
// separate directory, and connects to its API server, NATS and MySQL.
package platform
