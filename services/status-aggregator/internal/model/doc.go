// Package model keeps the observations of each object.
//
// It is a pure merge. An observation is versioned by (uid, epoch, seq) and
// carries everything; [Object.Merge] keeps, for each incarnation (uid) of a
// name, two joins: the greatest version and the newest in the stream. Both are
// maxima, so messages may come twice, late, reordered or replayed and the
// result is the same ([Object] values are equal whatever the order).
//
// [Object.Pick] returns the one to use. That is the greatest version, with one exception: a
// later message with a lower epoch (an observer whose clock was set back, and which did not
// know its previous epoch). It is used once the validity of the greater epoch has passed
// without a message. The decision is made at reading, from the clock of the caller, so the
// merge itself does not depend on time.
//
// The caller also selects the incarnation, by the UID in the cluster. So a previous object
// of the same name never reappears, and one that the watch has not shown yet is not lost.
package model
