// Package docs holds the documentation against the code: links and anchors lead somewhere,
// targets, subcommands, flags and files that are named exist, every reason of a condition is
// explained, and every command is one that something executes or checks, or is listed in
// docs/unverified.md with the reason.
package docs
