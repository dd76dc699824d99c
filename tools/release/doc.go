// The program release answers two questions about the modules of this repository: what a
// change affects, and whether a module can be released. make affected and make release-prep
// run it; docs/releasing.md describes how a release is made.
package main
