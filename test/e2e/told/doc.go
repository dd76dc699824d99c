// Package told holds what a subscriber was told of objects against what became of them: a [Recorder] keeps how their
// conditions and phases change in the API server, and [Compare] finds what was told twice, wrongly or not at all.
package told
