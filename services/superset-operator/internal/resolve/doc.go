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
// The package is pure. [Invalid] names what contradicts itself in a spec: a
// Superset with any of it is refused as a whole, loudly.
package resolve
