// Command release computes which modules of this repository a change affects, which checks
// must run, and whether a module can be released. make affected and make release-prep run
// it; docs/releasing.md describes the release process.
package main
