// Command licenses prints docs/licenses.md, the licenses of all modules linked into the services and the plugin.
// It reads the packages that the binaries are built from, not all of go.mod, and rejects licenses that are not accepted.
package main
