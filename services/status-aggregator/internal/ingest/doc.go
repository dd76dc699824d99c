// Package ingest reads the bus: the observations of this cluster and the
// heartbeats of its observers.
//
// Each stream is read as a snapshot of the last message of every subject first, then
// followed live. [Ingest.CaughtUp] is true once both snapshots are complete; an interruption of
// either makes it false again, also while the stream is missing. Retained messages build the model, but only live messages
// count as heartbeats.
//
// A message is valid when subject and payload agree on cluster, namespace, kind, name and
// observer. Permissions on the bus are by subject, so a payload with another identity is
// forged or broken. Such a message, and one that cannot be decoded, is
// counted and published to the dead-letter queue. It never blocks reading.
//
// [Ingest.PurgeTombstone] purges the observations of a deleted object from the stream, up to the
// position that was read.
package ingest
