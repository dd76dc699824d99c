// Package observe watches the managed custom resources.
//
// It keeps of each object only what the aggregator reads ([Trim]): metadata,
// status.conditions, status.phase and status.transitions. Types of the operators
// are not imported; any kind that is a row of the registry can be read.
//
// A kind may be absent: its operator need not be installed. The CRDs are watched too, so
// that a kind is watched as soon as its CRD is created and no longer when it is deleted,
// without a restart and without polling.
//
// The last state of a deleted object is kept until it is read ([Watcher.Last]), since its
// status may hold phase changes that are not published yet.
package observe
