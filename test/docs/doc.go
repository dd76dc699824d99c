// Package docs checks the documentation against the code: the targets of links and anchors exist,
// and so do the make targets, subcommands, flags and files that pages name; pages explain all
// condition reasons; a test executes or checks each command, or docs/unverified.md lists it with
// the reason.
package docs
