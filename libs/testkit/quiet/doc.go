// Package quiet holds what an operator renders against what its previous release rendered.
//
// An upgrade of an operator must restart nothing: what it renders from the same resources
// has to stay as it was, byte for byte. The renders of the previous release are kept in
// testdata/release/<version>/<case>, inputs included, and are never edited. A difference is
// either a mistake or declared in the changelog, under Unreleased:
//
//	### Restarts pods
//
//	- `web-server-deployment.yaml`: the probe asks another path, since ...
//
// with one line for each file name that differs.
//
// At a release the present renders are recorded and those of the release before it removed:
//
//	go test ./internal/render -run TestUpgradeIsQuiet -record-release v0.2.0
package quiet
