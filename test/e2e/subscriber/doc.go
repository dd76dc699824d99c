// Package subscriber reads lifecycle events from outside the cluster, as docs/events describes it: over TLS, with an
// identity of its own, reconnecting without a limit, and deduplicating events by id.
//
// [Follow] reads the events of one namespace from a durable consumer. Its permissions allow only this consumer, which
// an administrator creates. [Stored] reads the events that the stream holds.
package subscriber
