// Package model remembers what was heard about each object.
//
// It is a pure merge. An observation is versioned by (uid, epoch, seq) and
// carries everything; [Object.Merge] keeps, for each incarnation (uid) of a
// name, two joins: the greatest version and the newest in the stream. Both are
// maxima, so messages may come twice, late, reordered or replayed and the
// result is the same ([Object] values are equal whatever the order).
//
// [Object.Pick] says which of the two to believe. That is the greatest version,
// but for one case: a later message with a lower epoch (an observer whose clock
// went back, and which did not know its former epoch). It is believed once
// nothing of the greater epoch has been heard for as long as that was valid.
// The decision is made at reading, from the clock that the caller passes, so
// the merge itself knows no time.
//
// Which incarnation counts is not decided here either: the caller asks for the
// uid that lives in the cluster, so a former object of the same name can never
// come back, and one that the watch has not shown yet is not lost.
package model
