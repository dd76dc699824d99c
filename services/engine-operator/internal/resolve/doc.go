// Package resolve merges the layers of a user's spec into one flat description of an engine.
//
// There are three layers, and the last one wins: the operator's defaults, the class that the
// engine refers to, and the engine itself (specification 001, "Pod template merge"). Scalars and
// structs are replaced as a whole, maps are merged key by key, lists are concatenated
// class before engine; within a list a later entry with the same merge key (the name of
// an environment variable, the path of a mount, the address of a host alias) replaces
// the earlier one in place, since server-side apply rejects duplicates. Empty
// fields, including empty maps and lists, do not change the layer below.
//
// Rendering uses only the result, so each default is set in one place. The
// package is pure.
package resolve
