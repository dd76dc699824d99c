// Package ingest reads the bus: the observations of this cluster and the
// heartbeats of its observers.
//
// Each stream is read by its last message of every subject first, then followed.
// Only when both snapshots are complete are we caught up ([Ingest.CaughtUp]); a
// restart of either makes it false again. Retained messages build the model but
// are no sign of life: only what comes live is.
//
// A message is believed when its subject and its payload say the same thing:
// cluster, namespace, kind, name, observer. Permissions on the bus are by
// subject, so a payload that names somebody else is forged or broken. Such a
// message, and one that cannot be read, is poison: it is counted, parked on the
// dead letter stream, and forgotten. It never stops the reading.
//
// The last word on an object that is proven gone is removed from the stream
// ([Ingest.Sweep]), never beyond the place that was read.
package ingest
