// Package renderdiff compares the output of an operator's renderers with that of its previous release.
//
// An upgrade of an operator must not restart pods: its output for the same resources must stay the same, byte for byte.
// testdata/release/<version>/<case> has the output of the previous release with its inputs; never edit it. A difference
// is either a bug or declared in the changelog, under Unreleased:
//
//	### Restarts pods
//
//	- `web-server-deployment.yaml`: the probe uses another path, since ...
//
// with one line for each file name that differs.
//
// At a release, record the current output, which replaces that of the previous release:
//
//	go test ./internal/render -run TestUpgradeKeepsRenderedObjects -record-release v0.2.0
package renderdiff
