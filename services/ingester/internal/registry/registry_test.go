package registry

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadDescribesEveryKind(t *testing.T) {
	r, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range r.Kinds() {
		got = append(got, k.Name+" "+k.Plural+" "+k.Table)
	}
	want := []string{"Model models model", "Project projects project"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	model, _ := r.Lookup("Model")
	if len(model.Columns) != 20 || len(model.Keys) != 14 || !model.Immutable {
		t.Errorf("Model has %d columns and %d keys, immutable %v; want 20, 14, true", len(model.Columns), len(model.Keys), model.Immutable)
	}
}

func TestParseRefusesDisagreement(t *testing.T) {
	tests := map[string]struct {
		kinds []string
		want  string
	}{
		"a listed kind has no message":     {kinds: []string{"Model", "Project", "Ghost"}, want: `kind "Ghost" is listed`},
		"a described message is forgotten": {kinds: []string{"Model"}, want: `message "Project" carries the kind option`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(descriptors, tc.kinds)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestNewColumnsNameWhatIsWrong(t *testing.T) {
	r, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	model, _ := r.Lookup("Model")
	tests := map[string]struct {
		index indexOptions
		want  string
	}{
		"an unknown field":         {indexOptions{path: "spec.nope", key: "nope"}, `has no field "nope"`},
		"a path through a scalar":  {indexOptions{path: "spec.algorithm.x", key: "x"}, "after a field that is no message"},
		"a repeated field":         {indexOptions{path: "spec.quality_scores", key: "x"}, "is repeated"},
		"a message":                {indexOptions{path: "spec.llm_spec", key: "x"}, "cannot be indexed"},
		"a key that is no name":    {indexOptions{path: "spec.algorithm", key: "x; DROP"}, "no SQL identifier"},
		"a text type with no size": {indexOptions{path: "spec.algorithm", key: "x", sqlType: "TEXT"}, "is not VARCHAR(n)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := newColumns(model.Message, tc.index)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestDescriptorsAreCurrent compiles the .proto files again and compares.
func TestDescriptorsAreCurrent(t *testing.T) {
	out := filepath.Join(t.TempDir(), "descriptors.binpb")
	cmd := exec.Command("go", "run", "./compile", "-proto", "../../proto", "-out", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, text)
	}
	fresh, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(fresh) != string(descriptors) {
		t.Error("descriptors.binpb is not what proto/ compiles to: run go generate ./internal/registry")
	}
}
