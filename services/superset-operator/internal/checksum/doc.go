// Package checksum computes the fingerprints that decide whether pods roll and
// tasks run again.
//
// The inputs are explicit: named values, never whole Go structs or the text of
// default scripts, so that a new field or a better script in a later release does
// not change a fingerprint by accident and re-run a task. [Scheme] names the
// method; the status stores it with the fingerprints, so that a release with
// another method can translate them instead of running every task again.
package checksum
