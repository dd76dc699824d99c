package engine

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mutants"
)

// event is a class of faults of the model. Some guards of the state machine exist only for it: a search without
// the event does not notice when they are removed.
type event struct {
	// in reports whether a scenario is made for the event.
	in func(*model) bool
	// remove removes it from any scenario. It returns false if the scenario cannot do without.
	remove func(*model) bool
	// mutants lists the mutants that only the event detects. `go test` runs the first one.
	mutants []string
}

var events = map[string]event{
	// A StatefulSet that serves is deleted while another generation is created or drained. Records of other clients and
	// old ones name generations that are lost from the start.
	"lost-serving": {
		in: func(m *model) bool { return m.partlyReady && !m.credentials },
		remove: func(m *model) bool {
			m.keepsServing = true
			return !m.foreignStatus && !m.losesStatus && !m.arbitraryStart
		},
		mutants: []string{
			"waits for queries although a generation is lost",
			"leaves a lost generation lost in draining",
			"leaves a lost generation lost in cleaning",
			"deletes the last generation that answers",
		},
	},
	"lost-labels": {
		in:      func(m *model) bool { return m.labels },
		remove:  func(m *model) bool { m.labels = false; return true },
		mutants: []string{"leaves labels lost", "relabels while it gives out a number"},
	},
	"foreign-finalizers": {
		in:     func(m *model) bool { return m.finalizers && !m.labels },
		remove: func(m *model) bool { m.finalizers = false; return true },
		mutants: []string{
			"counts what a foreign finalizer holds",
			"cleans until a foreign finalizer is removed",
		},
	},
	"lost-credentials": {
		in:     func(m *model) bool { return m.credentials },
		remove: func(m *model) bool { m.credentials = false; return true },
		mutants: []string{
			"gives out a number without credentials",
			"creates a StatefulSet without credentials",
			"switches without credentials",
			"starts a rollout without credentials if it can render",
			"builds without credentials if it can render",
		},
	},
}

// pairs returns each scenario without an event and, if it is made for the event, also with it.
func pairs(list []model, e event) (out []model) {
	for i := range list {
		without := list[i]
		if without.name = "without-" + list[i].name; e.remove(&without) {
			out = append(out, without)
		}
		if e.in(&list[i]) {
			with := list[i]
			with.name = "with-" + list[i].name
			out = append(out, with)
		}
	}
	return out
}

// TestEventMutants checks that each such mutant survives the scenarios without its event, and that those with it detect it.
// `go test` runs one mutant of each event in one scenario; `make verify-engine` runs all of them in all scenarios.
func TestEventMutants(t *testing.T) {
	list := mutants.Read(t, "testdata/mutants.txt", 10)
	full := os.Getenv("FLOTILLA_ENGINE_SEARCH") == "full"
	for name, e := range events {
		search, names := "TestSearch", e.mutants
		if !full {
			search, names = "TestSearch$/^with(out)?-"+firstScenario(e), names[:1]
		}
		for _, mutant := range names {
			i := slices.IndexFunc(list, func(m mutants.Mutant) bool { return m.Name == mutant })
			if i < 0 {
				t.Fatalf("there is no mutant %q", mutant)
			}
			t.Run(name+"/"+list[i].Title(), func(t *testing.T) {
				t.Parallel()
				output, err := list[i].Test(t, search, "FLOTILLA_ENGINE_SEARCH=quick", "FLOTILLA_ENGINE_EVENT="+name)
				if err == nil {
					t.Fatal("the search finds nothing")
				}
				checkOnlyWith(t, list[i], output)
			})
		}
	}
}

// firstScenario returns the first scenario that is made for an event.
func firstScenario(e event) string {
	list := scenarios(false)
	return list[slices.IndexFunc(list, func(m model) bool { return e.in(&m) })].name
}

// checkOnlyWith checks the output of a search of pairs.
func checkOnlyWith(t *testing.T, m mutants.Mutant, output string) {
	t.Helper()
	detected := false
	for scenario, violated := range violations(output) {
		switch {
		case strings.HasPrefix(scenario, "without-"):
			t.Errorf("the scenario %s fails without the event, and breaks %q:\n%s", scenario, violated, output)
		case violated == m.By:
			detected = true
		}
	}
	if !detected {
		t.Errorf("no scenario with the event breaks %s:\n%s", m.By, output)
	}
	t.Logf("MUTANT %s: caught by %s, only with its event", m.Name, m.By)
}

// violations returns the invariants that the failed scenarios broke; empty for one that failed otherwise.
func violations(output string) map[string]string {
	out := map[string]string{}
	scenario := ""
	for line := range strings.Lines(output) {
		if _, after, ok := strings.Cut(line, "--- FAIL: TestSearch/"); ok {
			scenario, _, _ = strings.Cut(after, " ")
			out[scenario] = ""
		}
		if _, after, ok := strings.Cut(line, "BROKEN "); ok {
			out[scenario], _, _ = strings.Cut(after, ":")
		}
	}
	return out
}
