package samples_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/samples"
)

const superset = `{"apiVersion":"superset.apache.org/v1alpha1","kind":"Superset",` +
	`"metadata":{"name":"s","namespace":"default","generation":2},"status":`

func TestProblem(t *testing.T) {
	cases := map[string]struct {
		object string
		want   string
	}{
		"a new Superset has no phase yet": {
			object: superset + `{}}`,
			want:   `phase "", not Running`,
		},
		"running without conditions": {
			object: superset + `{"phase":"Running"}}`,
			want:   "no condition Available",
		},
		"running and not available": {
			object: superset + `{"phase":"Running","conditions":[{"type":"Available","status":"False","reason":"RollingOut","message":"1 of 2"}]}}`,
			want:   "Available is False/RollingOut: 1 of 2",
		},
		"conditions of an older generation": {
			object: superset + `{"phase":"Running","conditions":[{"type":"Available","status":"True","observedGeneration":1}]}}`,
			want:   "Available observed generation 1, want 2",
		},
		"running and available": {
			object: superset + `{"phase":"Running","conditions":[{"type":"Available","status":"True","observedGeneration":2}]}}`,
		},
		"an engine between two generations": {
			object: `{"apiVersion":"compute.firebolt.io/v1alpha1","kind":"FireboltEngine","metadata":{"name":"e"},"status":{"phase":"switching"}}`,
			want:   `phase "switching", not stable`,
		},
		"an instance that is ready": {
			object: `{"apiVersion":"compute.firebolt.io/v1alpha1","kind":"FireboltInstance","metadata":{"name":"i"},` +
				`"status":{"phase":"Ready","conditions":[{"type":"Ready","status":"True"}]}}`,
		},
		"a kind without rules only has to exist": {
			object: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`,
		},
		"a kind of the same name in another group": {
			object: `{"apiVersion":"example.org/v1","kind":"Superset","metadata":{"name":"s"}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := samples.ParseList([]byte(tc.object))
			if err != nil || len(found) != 1 {
				t.Fatalf("parsed %v, %v", found, err)
			}
			if diff := cmp.Diff(tc.want, found[0].Problem()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseListReadsKubectlOutput(t *testing.T) {
	for text, want := range map[string]int{
		"":                           0,
		`{"kind":"List","items":[]}`: 0,
		`{"kind":"List","items":[{"kind":"A"},{"kind":"B"}]}`: 2,
		`{"kind":"A","metadata":{"name":"a"}}`:                1,
	} {
		got, err := samples.ParseList([]byte(text))
		if err != nil || len(got) != want {
			t.Errorf("%q: %d resources instead of %d, %v", text, len(got), want, err)
		}
	}
	if _, err := samples.ParseList([]byte("oops")); err == nil {
		t.Error("invalid JSON was accepted")
	}
}

// rows is a store with the rows "table/namespace/name".
type rows map[string]bool

func (r rows) Has(_ context.Context, table, namespace, name string) (bool, error) {
	return r[table+"/"+namespace+"/"+name], nil
}

func TestCheckReportsMissingAndStoredSamples(t *testing.T) {
	dir := t.TempDir()
	text := `# two documents, the first one empty
---
apiVersion: michelangelo.api/v2
kind: Project
metadata: {name: stored, namespace: default}
---
apiVersion: michelangelo.api/v2
kind: ModelFamily
metadata: {name: not-stored}
---
apiVersion: v1
kind: Secret
metadata: {name: gone}
`
	if err := os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := samples.Load([]string{dir, filepath.Join(dir, "no-such-folder")})
	if err != nil {
		t.Fatal(err)
	}
	found, err := samples.ParseList([]byte(`{"apiVersion":"michelangelo.api/v2","kind":"ModelFamily",` +
		`"metadata":{"name":"not-stored","namespace":"default"}}`))
	if err != nil {
		t.Fatal(err)
	}
	// The ingester has evicted the immutable object: it exists only in the database.
	got, err := set.Check(t.Context(), found, rows{"project/default/stored": true})
	if err != nil {
		t.Fatal(err)
	}
	problems := map[string]string{}
	for _, r := range got {
		problems[r.Name] = r.Row + ": " + r.Problem
	}
	want := map[string]string{
		"stored":     "stored: ",
		"not-stored": "-: not stored in MySQL",
		"gone":       "-: does not exist",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
}

func TestRowsShowConditionsAndProblem(t *testing.T) {
	found, err := samples.ParseList([]byte(superset + `{"phase":"Degraded","conditions":[` +
		`{"type":"Available","status":"False","reason":"X"},{"type":"Stopped","status":"Unknown"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := samples.Rows([]samples.Report{{Resource: found[0], Problem: found[0].Problem(), Row: "-"}})
	want := [][]string{
		{"KIND", "NAME", "PHASE", "AVAILABLE", "PROGRESSING", "DEGRADED", "UPGRADABLE", "PAUSED", "STOPPED", "MYSQL", "NOTE"},
		{"Superset", "default/s", "Degraded", "False", "-", "-", "-", "-", "Unknown", "-", `phase "Degraded", not Running`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadErrorNamesBrokenFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("kind: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := samples.Load([]string{dir}); err == nil || !strings.Contains(err.Error(), "bad.yaml") {
		t.Errorf("got %v", err)
	}
}
