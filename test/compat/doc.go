// Package compat checks this release against the previous one: each release reads messages
// of the other without a change of meaning, and the CRDs of this release accept objects of
// the previous one, including their status, without losing fields. docs/compatibility.md
// describes the guarantees.
//
// Each directory of testdata is a release; its files never change.
package compat
