// Package resolve resolves the layered spec (defaults, top level, component) into
// flat [Workload] values: one for each component and one for each task. The render
// package takes only those, so that all precedence is decided here, once.
//
// Precedence, lowest first: top level, component (or lifecycle for tasks), the
// operator's own entries. Single values are replaced, maps and keyed lists merge
// by key with the later entry in the earlier one's place, plain lists append.
// Keyed lists are unique by the key that server-side apply uses (env by name,
// mounts by path, ports by number and protocol, host aliases by address), since
// an apply rejects duplicates.
//
// The package is pure. [Validate] lists the contradictions in a spec: a Superset with
// any of them is rejected as a whole, and a condition shows it.
package resolve
