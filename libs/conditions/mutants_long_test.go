//go:build long

package conditions_test

import (
	"strings"
	"testing"
)

// Each mutant is compiled in place of the source, and the test that is named for it must
// fail. It takes a build each: about two minutes on two cores.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range listed(t) {
		t.Run(m.Title(), func(t *testing.T) {
			t.Parallel()
			output, err := m.Test(t, m.By)
			switch {
			case err == nil:
				t.Errorf("%s finds nothing", m.By)
			case !strings.Contains(output, "--- FAIL: "+m.By+" "):
				t.Errorf("%s does not run:\n%s", m.By, output)
			default:
				t.Logf("MUTANT %s: caught by %s", m.Name, m.By)
			}
		})
	}
}
