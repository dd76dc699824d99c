package engine

import (
	"fmt"
	"os"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mutants"
)

// checkKilled runs the search against the changed source and returns a message if the
// invariant is not violated.
func checkKilled(t *testing.T, m mutants.Mutant) string {
	t.Helper()
	output, err := m.Test(t, "TestSearch", "FLOTILLA_ENGINE_SEARCH=quick")
	if err == nil {
		return "the search finds nothing"
	}
	violated := map[string]bool{}
	for _, name := range violations(output) {
		if name != "" {
			violated[name] = true
		}
	}
	switch {
	case len(violated) == 0:
		return "the search does not run:\n" + output
	case !violated[m.By]:
		return fmt.Sprintf("the search breaks %v, not %s", violated, m.By)
	}
	t.Logf("MUTANT %s: caught by %s", m.Name, m.By)
	return ""
}

// Every mutant fits the source and names an invariant; `make verify-engine` also runs
// each, which takes a compilation each.
func TestMutants(t *testing.T) {
	const least = 10
	full := os.Getenv("FLOTILLA_ENGINE_SEARCH") == "full"
	for _, m := range mutants.Read(t, "testdata/mutants.txt", least) {
		t.Run(m.Title(), func(t *testing.T) {
			t.Parallel()
			if invariants[m.By] == "" {
				t.Errorf("there is no invariant %q", m.By)
			}
			if !full {
				return
			}
			if finding := checkKilled(t, m); finding != "" {
				t.Error(finding)
			}
		})
	}
}
