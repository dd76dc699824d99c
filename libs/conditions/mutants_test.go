package conditions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a change of the source that a test must notice.
type mutant struct {
	name, file, test string
	old, new         string
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
			out[last].old = grow(out[last].old, line[2:])
		case line == "+" || strings.HasPrefix(line, "+ "):
			out[last].new = grow(out[last].new, strings.TrimPrefix(line[1:], " "))
		default:
			head := strings.Split(line, " | ")
			if len(head) != 3 {
				t.Fatalf("%q is not name | file | test", line)
			}
			out = append(out, mutant{name: head[0], file: head[1], test: head[2]})
		}
	}
	return out
}

func grow(text, line string) string {
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

// The list of mutants keeps up with the source.
func TestMutantsFitTheSource(t *testing.T) {
	list := mutants(t)
	if len(list) < 12 {
		t.Errorf("%d mutants, want at least 12", len(list))
	}
	for _, m := range list {
		if _, err := m.apply(); err != nil {
			t.Error(err)
		}
	}
}
