// Package app wires the ingester: flags, the store, one controller for each kind, the
// relay of change events, and the commands.
package app
