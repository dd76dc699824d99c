// Package compat holds this release against the one before it: what that one sent is read
// and understood as it was, what this one sends is read by it, and its objects, statuses
// included, are accepted and lose nothing. docs/compatibility.md tells what is promised.
//
// Each directory of testdata is a release; its files never change.
package compat
