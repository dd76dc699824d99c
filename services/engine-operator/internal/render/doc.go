// Package render makes the Kubernetes objects of an engine and of an instance from
// flat descriptions (package resolve). It is pure and deterministic: equal input gives
// equal bytes, and the golden files in testdata show them.
//
// Everything of a generation follows from one [Input]. [Fingerprint] hashes all of it
// independently of the generation's number; the StatefulSet carries the fingerprint, so
// any change of any rendered field, also in the configuration, is a new generation.
// [Compare] looks at a live StatefulSet: the fingerprint tells what was rendered, and
// every rendered field must still have its value. What the API server fills in beside
// them is never a difference.
package render
