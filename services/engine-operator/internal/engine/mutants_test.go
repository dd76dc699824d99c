package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a change of the source that the search must notice.
type mutant struct {
	name, file, invariant string
	old, new              string
}

// mutants reads testdata/mutants.txt.
func mutants(t *testing.T) []mutant {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "mutants.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []mutant
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		last := len(out) - 1
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "- "):
			out[last].old = join(out[last].old, line[2:])
		case line == "+" || strings.HasPrefix(line, "+ "):
			out[last].new = join(out[last].new, strings.TrimPrefix(line[1:], " "))
		default:
			head := strings.Split(line, " | ")
			if len(head) != 3 {
				t.Fatalf("%q is not name | file | invariant", line)
			}
			out = append(out, mutant{name: head[0], file: head[1], invariant: head[2]})
		}
	}
	return out
}

func join(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// apply returns the changed file.
func (m mutant) apply() (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 || m.old == "" {
		return "", fmt.Errorf("%s has the text of mutant %q %d times, want once:\n%s", m.file, m.name, n, m.old)
	}
	return strings.Replace(string(source), m.old, m.new, 1), nil
}

// survives runs the search against the changed source and says what is wrong when the
// invariant does not break.
func (m mutant) survives(t *testing.T) string {
	t.Helper()
	changed, err := m.apply()
	if err != nil {
		return err.Error()
	}
	dir := t.TempDir()
	here, err := filepath.Abs(m.file)
	if err != nil {
		return err.Error()
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{here: filepath.Join(dir, m.file)}})
	if err != nil {
		return err.Error()
	}
	for name, content := range map[string]string{m.file: changed, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err.Error()
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-run=^TestSearch$",
		"-overlay="+filepath.Join(dir, "overlay.json"), ".")
	cmd.Env = append(os.Environ(), "FLOTILLA_ENGINE_SEARCH=quick")
	output, err := cmd.CombinedOutput()
	if err == nil {
		return "the search finds nothing"
	}
	broken := map[string]bool{}
	for line := range strings.Lines(string(output)) {
		if _, after, ok := strings.Cut(line, "BROKEN "); ok {
			name, _, _ := strings.Cut(after, ":")
			broken[name] = true
		}
	}
	if len(broken) == 0 {
		return "the search does not run:\n" + string(output)
	}
	if !broken[m.invariant] {
		return fmt.Sprintf("the search breaks %v, not %s", broken, m.invariant)
	}
	t.Logf("MUTANT %s: caught by %s", m.name, m.invariant)
	return ""
}

// Every mutant fits the source and names an invariant; `make verify-engine` also runs
// each, which takes a compilation each.
func TestMutants(t *testing.T) {
	list := mutants(t)
	if len(list) < 10 {
		t.Fatalf("%d mutants, want at least 10", len(list))
	}
	full := os.Getenv("FLOTILLA_ENGINE_SEARCH") == "full"
	for _, m := range list {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			if invariants[m.invariant] == "" {
				t.Errorf("there is no invariant %q", m.invariant)
			}
			if _, err := m.apply(); err != nil {
				t.Fatal(err)
			}
			if !full {
				return
			}
			if problem := m.survives(t); problem != "" {
				t.Error(problem)
			}
		})
	}
}
