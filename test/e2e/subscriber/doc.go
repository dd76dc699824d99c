// Package subscriber reads lifecycle events from outside the cluster, as docs/events tells programs to: by TLS and with
// an identity of its own, never giving up, and telling repeated events by their id.
//
// [Follow] is a tool of one namespace. It reads from a durable consumer that was created for it, which is
// all that its rights allow. [Stored] is a person who reads what the stream holds.
package subscriber
