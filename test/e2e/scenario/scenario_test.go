package scenario

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/test/e2e/run"
)

func TestScenariosAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, group := range (&Platform{}).All() {
		for _, s := range group {
			if seen[s.Name] || s.Name == "" || s.Title == "" || s.Limit == 0 || s.Clean == nil || len(s.Phases) == 0 {
				t.Errorf("%q stands twice or lacks something", s.Name)
			}
			seen[s.Name] = true
			for _, service := range s.Services {
				if exchanged[service] == nil {
					t.Errorf("%s names the service %q", s.Name, service)
				}
			}
			if len(s.Services) == 0 {
				t.Errorf("%s names no service, so that no change would play it", s.Name)
			}
			phases := map[string]bool{}
			for _, p := range s.Phases {
				if phases[p.Name] || p.Do == nil {
					t.Errorf("%s: phase %q stands twice or does nothing", s.Name, p.Name)
				}
				phases[p.Name] = true
			}
		}
	}
}

func TestChoose(t *testing.T) {
	plan := [][]run.Scenario{{{Name: "a"}, {Name: "b"}}, {{Name: "c"}}}
	for names, want := range map[string]string{"": "a b|c", "b": "b", "c,a": "a|c"} {
		got, err := Choose(plan, strings.FieldsFunc(names, func(r rune) bool { return r == ',' }))
		if err != nil {
			t.Fatal(err)
		}
		var groups []string
		for _, group := range got {
			var words []string
			for _, s := range group {
				words = append(words, s.Name)
			}
			groups = append(groups, strings.Join(words, " "))
		}
		if have := strings.Join(groups, "|"); have != want {
			t.Errorf("%q: %q, want %q", names, have, want)
		}
	}
	if _, err := Choose(plan, []string{"d"}); err == nil || !strings.Contains(err.Error(), "a, b, c") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestManifestsAreValidYAML(t *testing.T) {
	filled, err := manifest("engine.yaml", "${REPLICAS}", "2", "${POSTGRES}", "", "${DRAIN_CHECK}", "true")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(filled, "${") {
		t.Error("a value is missing")
	}
	for document := range strings.SplitSeq(filled, "\n---\n") {
		var o map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
			t.Errorf("%v in\n%s", err, document)
		}
	}
}

func object(generation int64, condition map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"generation": generation},
		"status":   map[string]any{"conditions": []any{condition}},
	}}
}

func TestIsTrueIgnoresOldGeneration(t *testing.T) {
	available := map[string]any{"type": "Available", "status": "True", "observedGeneration": int64(2)}
	if err := isTrue(object(2, available), "Available"); err != nil {
		t.Error(err)
	}
	if isTrue(object(3, available), "Available") == nil {
		t.Error("the condition of generation 2 counts for generation 3")
	}
	if isTrue(object(2, available), "Ready") == nil {
		t.Error("an absent condition counts")
	}
}

// An old generation that went with its queries fails the scenario, unless no pod really runs.
func TestCountDrainsReportsSkippedDrain(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"transitions": []any{
		map[string]any{"seq": int64(1), "reason": "Drained"},
		map[string]any{"seq": int64(2), "reason": "DrainSkipped"},
	}}}}
	e := &engine{Platform: &Platform{}, told: 0}
	if e.countDrains(o) == nil || e.drained != 1 {
		t.Errorf("drained %d", e.drained)
	}
	e = &engine{Platform: &Platform{Simulated: true}}
	if err := e.countDrains(o); err != nil || e.countDrains(o) != nil || e.drained != 1 {
		t.Errorf("%v, drained %d", err, e.drained)
	}
}

func TestLooseReportsUnhardenedContainers(t *testing.T) {
	pod := func(spec string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte("spec: "+spec), &o.Object); err != nil {
			t.Fatal(err)
		}
		return o
	}
	tight := `{securityContext: {runAsNonRoot: true}, containers: [{name: a, securityContext: {readOnlyRootFilesystem: true}}]}`
	if n, err := loose(pod(tight)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for name, spec := range map[string]string{
		"root":                  `{containers: [{name: a, securityContext: {readOnlyRootFilesystem: true}}]}`,
		"a writable root":       `{securityContext: {runAsNonRoot: true}, containers: [{name: a}]}`,
		"root by the container": `{securityContext: {runAsNonRoot: true}, containers: [{name: a, securityContext: {runAsNonRoot: false, readOnlyRootFilesystem: true}}]}`,
		"an init container":     `{securityContext: {runAsNonRoot: true}, containers: [], initContainers: [{name: a}]}`,
	} {
		if _, err := loose(pod(spec)); err == nil {
			t.Errorf("%s is not seen", name)
		}
	}
}
