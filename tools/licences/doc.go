// The program licences lists the licences of everything that is linked into the services and
// the plugin, in docs/licences.md. It reads the packages that the binaries are built from, not
// all that go.mod names, and refuses licences that nobody has looked at.
package main
