//go:build long

package conditions_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each mutant is compiled in place of the source, and the test that is named for it must
// fail. It takes a build each: about two minutes on two cores.
func TestMutantsAreCaught(t *testing.T) {
	for _, m := range mutants(t) {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			output, err := m.run(t)
			caught := strings.Contains(output, "--- FAIL: "+m.test+" ")
			switch {
			case err == nil:
				t.Errorf("%s finds nothing", m.test)
			case !caught:
				t.Errorf("%s does not run:\n%s", m.test, output)
			default:
				t.Logf("MUTANT %s: caught by %s", m.name, m.test)
			}
		})
	}
}

// run runs the mutant's test against the changed source.
func (m mutant) run(t *testing.T) (string, error) {
	t.Helper()
	changed, err := m.apply()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	here, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: filepath.Join(dir, m.file)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{m.file: changed, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-run=^"+m.test+"$", //nolint:gosec // the name stands in testdata
		"-overlay="+filepath.Join(dir, "overlay.json"), ".")
	output, err := cmd.CombinedOutput()
	return string(output), err
}
