// Package mutants checks tests: a mutant is a small change of the source that a test must
// detect. The go command compiles the mutant in place of the source; the source file does
// not change.
//
// A text file lists the mutants. Each has a line "name | file | by", where by names the test
// that must detect it, and the text before (lines with "- ") and after (lines with "+ "):
//
//	the limit is off by one | limit.go | TestTheLimit
//	- if n > most {
//	+ if n >= most {
//
// Lines with "#" are comments.
package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Mutant is a small change of the source.
type Mutant struct {
	// Name is a sentence; File is in the directory of the package under test.
	Name, File string
	// By names what must detect it: a test, or another check of the package.
	By string

	before, after string
}

// Read reads a list. It fails the test if the list has fewer than least mutants or if one does not apply to the source.
func Read(t testing.TB, list string, minimum int) []Mutant {
	t.Helper()
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	out, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	if len(out) < minimum {
		t.Errorf("%s has %d mutants, want at least %d", list, len(out), minimum)
	}
	for _, m := range out {
		if _, err := m.changed(); err != nil {
			t.Error(err)
		}
	}
	return out
}

func parse(text string) ([]Mutant, error) {
	var out []Mutant
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		sign, content, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case sign != "-" && sign != "+":
			head := strings.Split(line, " | ")
			if len(head) != 3 {
				return nil, fmt.Errorf("%q is not name | file | by", line)
			}
			out = append(out, Mutant{Name: head[0], File: head[1], By: head[2]})
		case len(out) == 0:
			return nil, fmt.Errorf("%q belongs to no mutant", line)
		case sign == "-":
			grow(&out[len(out)-1].before, content)
		default:
			grow(&out[len(out)-1].after, content)
		}
	}
	return out, nil
}

func grow(text *string, line string) {
	if *text != "" {
		line = *text + "\n" + line
	}
	*text = line
}

// Title returns the name for t.Run.
func (m Mutant) Title() string { return strings.ReplaceAll(m.Name, " ", "-") }

// changed returns the contents of the changed file.
func (m Mutant) changed() (string, error) {
	source, err := os.ReadFile(m.File)
	if err != nil {
		return "", fmt.Errorf("mutant %q: %w", m.Name, err)
	}
	if n := strings.Count(string(source), m.before); n != 1 || m.before == "" {
		return "", fmt.Errorf("%s has the text of mutant %q %d times, want once:\n%s", m.File, m.Name, n, m.before)
	}
	return strings.Replace(string(source), m.before, m.after, 1), nil
}

// Test runs one test of the package in this directory against the changed source. The error is nil when the test
// passes: then the mutant was not detected.
func (m Mutant) Test(t testing.TB, test string, env ...string) (output string, err error) {
	t.Helper()
	changed, err := m.changed()
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(m.File)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "source.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{here: source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{source: []byte(changed), overlay: replace} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-run=^"+test+"$", "-overlay="+overlay, ".")
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}
