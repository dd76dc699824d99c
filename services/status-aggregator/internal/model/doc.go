// Package model keeps the observations of each object.
//
// It is a pure merge. An observation is versioned by (uid, epoch, seq) and is
// complete; [Object.Merge] keeps, for each incarnation (uid) of a
// name, two joins: the greatest version and the newest in the stream. Both are
// maxima, so messages may be duplicated, late, reordered or replayed, and the
// result is the same ([Object] values are equal in any order).
//
// [Object.Pick] returns the observation to use. This is the greatest version, with one exception: a
// later message with a lower epoch (an observer whose clock was set back and that lost
// its previous epoch). It is used once the validity of the greater epoch has passed
// without a message. The decision is made on read, with the clock of the caller, so the
// merge itself does not depend on time.
//
// The caller also selects the incarnation, by the UID in the cluster. So a previous object
// of the same name never reappears, and an incarnation that the watch has not shown yet is not lost.
package model
