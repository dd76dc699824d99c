// Package renderdiff compares the output of an operator's renderers with that of its previous release.
//
// An upgrade of an operator must restart nothing: its output for the same resources must stay the same, byte for
// byte. The output of the previous release is kept in testdata/release/<version>/<case>, inputs included, and is
// never edited. A difference is either a mistake or declared in the changelog, under Unreleased:
//
//	### Restarts pods
//
//	- `web-server-deployment.yaml`: the probe uses another path, since ...
//
// with one line for each file name that differs.
//
// At a release the present renders are recorded and those of the release before it removed:
//
//	go test ./internal/render -run TestUpgradeKeepsRenderedObjects -record-release v0.2.0
package renderdiff
