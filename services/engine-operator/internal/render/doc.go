// Package render makes the Kubernetes objects of an engine and of an instance from
// flat descriptions (package resolve). It is pure and deterministic: equal input gives
// equal bytes, and the golden files in testdata show them.
//
// Everything of a generation follows from one [Input]. [Fingerprint] hashes all of it
// independently of the generation's number; the StatefulSet carries the fingerprint, so
// any change of any rendered field, also in the configuration, is a new generation.
//
// [Compare] compares a live StatefulSet. The fingerprint identifies the rendering. As
// long as only we have written the spec, the live spec is the API server's form of it, and
// no default, rounding or dropped field can be a difference. After an edit every
// rendered field must have its value, and what managedFields assign to others must
// have been rendered too. What an earlier operator left carries no fingerprint: it is
// compared once by what users control, and then marked, see [Adoption].
package render
