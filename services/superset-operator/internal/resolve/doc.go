// Package resolve turns the layered spec (defaults, top level, component) into
// flat [Workload] values: one for each component and one for each task. The
// render package takes only those, so that every question of precedence is
// answered here, once.
//
// Precedence, lowest first: top level, component (or lifecycle for tasks), the
// operator's own entries. Single values are replaced, maps and keyed lists merge
// by key with the later entry in the earlier one's place, plain lists append.
// Keyed lists are unique by the key that server-side apply uses (env by name,
// mounts by path, ports by number and protocol, host aliases by address), since
// an apply refuses duplicates.
//
// The package is pure. [Unsupported] names the parts of a spec that this version
// cannot honour: a Superset that uses one of them is refused, loudly.
package resolve
