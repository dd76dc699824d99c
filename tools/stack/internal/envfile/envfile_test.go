package envfile_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/envfile"
)

func TestRenderedFileSetsExactValues(t *testing.T) {
	values := map[string]string{
		"a plain value":           "nats://127.0.0.1:4222",
		"a DSN":                   "flotilla:flotilla@tcp(127.0.0.1:3306)/db?time_zone=%27%2B00%3A00%27&loc=UTC",
		"quotes and dollars":      `it's $HOME "and" \n`,
		"a command substitution":  "$(touch /nowhere) `false`",
		"an empty value":          "",
		"a value of two lines":    "a\nb",
		"a path with white space": "/home/a b/c",
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "env")
			if err := envfile.Write(file, envfile.Vars{{Name: "X", Value: value}}, []string{"/a b/bin"}); err != nil {
				t.Fatal(err)
			}
			// Sourced twice, like users do.
			script := `. "$1"; . "$1"; printf '%s|%s' "$X" "$PATH"`
			cmd := exec.CommandContext(t.Context(), "sh", "-euc", script, "sh", file)
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if diff := cmp.Diff(value+"|/a b/bin:/usr/bin:/bin", string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamesOfServices(t *testing.T) {
	if got := envfile.Name("superset-operator", "METRICS"); got != "SUPERSET_OPERATOR_METRICS" {
		t.Errorf("got %s", got)
	}
}

func TestRenderExportsVariables(t *testing.T) {
	text := envfile.Render(envfile.Vars{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, nil)
	if !strings.Contains(text, "export A='1'\nexport B='2'\n") {
		t.Errorf("got %q", text)
	}
}
