package desired_test

import (
	"path/filepath"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/renderdiff"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
)

// TestUpgradeKeepsRenderedObjects checks that this release renders the same objects as the previous one, so that an
// upgrade restarts no pod and runs no task. The annotations hold the checksums on which both depend.
func TestUpgradeKeepsRenderedObjects(t *testing.T) {
	cases, err := filepath.Glob("testdata/*/superset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		cases[i] = filepath.Dir(cases[i])
	}
	renderdiff.Renders{
		Cases: cases, Inputs: []string{"superset.yaml"}, Changelog: "../../CHANGELOG.md",
		Render: func(t *testing.T, dir string) map[string][]byte {
			t.Helper()
			state, err := desired.For(desired.Input{Superset: load(t, filepath.Join(dir, "superset.yaml"))})
			if err != nil {
				t.Fatal(err)
			}
			return files(t, state)
		},
	}.Check(t)
}
