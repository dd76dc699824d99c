// Package watch follows the managed custom resources.
//
// It keeps of each object only what the aggregator reads ([Trim]): metadata,
// status.conditions, status.phase and status.transitions. Types of the operators
// are not imported; any kind that is a row of the registry can be read.
//
// A kind may be absent: its operator need not be installed. The CRDs are watched
// too, so that a kind is followed as soon as it appears and let go when it is
// removed, without a restart and without polling.
//
// The last state of an object that was deleted is kept until it was asked for
// ([Watcher.Last]), since its status may hold phase changes that nobody has
// published yet.
package watch
