// Package render renders the Kubernetes objects of an engine and of an instance from
// flat descriptions (package resolve). It is pure and deterministic: equal input gives
// equal bytes, and the golden files in testdata show them.
//
// All objects of a generation are rendered from one [Input]. [Fingerprint] hashes all of it
// independently of the generation's number; the StatefulSet carries the fingerprint, so
// a change of any rendered field, also in the configuration, starts a new generation.
//
// [Compare] compares a live StatefulSet. The fingerprint identifies the rendering. As
// long as only we have written the spec, the live spec is the API server's form of it, and
// defaulting, rounding and dropped fields are not differences. After an edit every
// rendered field must have its value, and fields that managedFields assign to other writers must
// have been rendered too. A StatefulSet of an earlier operator has no fingerprint: the fields that
// users control are compared once, and the object is then annotated, see [Adoption].
package render
