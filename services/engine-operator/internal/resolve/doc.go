// Package resolve turns what users wrote into one flat description of an engine.
//
// Three layers meet, the upper one winning: the operator's defaults, the class that the
// engine refers to, and the engine itself (seed 001, "Pod template merge"). Scalars and
// structs are replaced as a whole, maps are merged key by key, lists are concatenated
// class before engine; within a list a later entry with the same merge key (the name of
// an environment variable, the path of a mount, the address of a host alias) replaces
// the earlier one in place, since a server-side apply refuses duplicates. Fields that
// say nothing, an empty map or list among them, leave the layer below as it is.
//
// Rendering takes the result and nothing else, so a default is in one place. The
// package is pure.
package resolve
