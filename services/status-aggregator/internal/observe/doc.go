// Package observe watches the managed custom resources.
//
// It keeps only those fields of an object that the aggregator reads ([Trim]): metadata,
// status.conditions, status.phase and status.transitions. It imports no types of the operators;
// it can read any kind with a row in the registry.
//
// A kind may be absent, since its operator need not be installed. The CRDs are watched too, so
// a kind is watched as soon as its CRD is created and until it is deleted,
// without a restart and without polling.
//
// The last state of a deleted object is kept for [Watcher.Last], since its status may hold phase
// changes that are not published yet. The leader drops it once the deletion is published. A standby,
// which may become the leader before that, drops it after ten minutes in which a leader could publish.
package observe
