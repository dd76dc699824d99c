// Package history stores the status entry of each object and publishes each of its changes
// to the lifecycle stream exactly once.
//
// The key-value entry of an object ([contract.StatusEntry]) is the outbox of its lifecycle
// events. An update runs in this order:
//
//  1. publish the pending events of the current entry ([Store.Flush]),
//  2. publish the phase changes that are in the object's ring and not in the entry,
//  3. write the next entry, with its pending events, by compare-and-set,
//  4. publish the pending events of the next entry.
//
// After a crash between any two of these, the same four steps complete the update: ids are
// deterministic (`<uid>.<type>.<revision>` for a condition, `<uid>.<seq>` for a phase
// change), and each event is published with the expected last sequence of all of
// the object's subjects, so the stream rejects a second copy and the last message
// shows how far the previous attempt came. Events that are older than all that a stream has kept
// are not published: its limits have discarded them.
//
// The bucket is a cache. If it is empty although the object is not new, history is lost
// and the next entry has one pending snapshot event with gap set. The same applies if the
// bucket was reset to an older state than this process has read, or than the last event in the
// stream. The older entry publishes nothing. If a lagging replica returned it, the next write
// conflicts. One gap event marks phase changes whose numbers restart lower, after the
// cluster was restored.
//
// Compare-and-set also fences: if another process wrote the entry in between, the result is
// [ErrConflict], and the plan that was based on the previous entry is discarded.
package history
