// Package history keeps what the aggregator said about each object, and tells the
// world about changes exactly as often as the stream can hold them: once.
//
// The key-value entry of an object ([contract.StatusEntry]) is the outbox of its
// lifecycle events. The order of an update is
//
//  1. publish what the present entry still owes ([Store.Flush]),
//  2. publish the phase changes that the object's ring has and the entry has not,
//  3. write the next entry by compare-and-set; what changed is part of it,
//  4. publish what the next entry owes.
//
// A crash between any two of these is mended by the same four steps later: ids are
// deterministic (`<uid>.<type>.<revision>` for a condition, `<uid>.<seq>` for a phase
// change), and each event is published with the expected last sequence of all of
// the object's subjects, so the stream refuses a second copy and the last message
// tells how far the former attempt came.
//
// The bucket is a cache. When it is empty although the object is not new, history is
// lost and the next entry owes one snapshot event with gap set. So it is when the bucket
// was set back to an older state than this process has seen, and one gap event tells of
// phase changes that count from a lower number again, after the cluster was restored.
//
// Compare-and-set also fences: an entry that somebody else wrote in between is
// [ErrConflict], and what was planned from the former one is thrown away.
package history
