package scenario

import (
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

func TestScenariosAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, group := range All(&platform.Platform{}) {
		for _, s := range group {
			if seen[s.Name] || s.Name == "" || s.Title == "" || s.Limit == 0 || s.Clean == nil || len(s.Phases) == 0 {
				t.Errorf("scenario %q is a duplicate or lacks a required field", s.Name)
			}
			seen[s.Name] = true
			for _, service := range s.Services {
				if platform.ServiceLeases[service] == nil {
					t.Errorf("%s: unknown service %q", s.Name, service)
				}
			}
			if len(s.Services) == 0 {
				t.Errorf("%s lists no services, so no change would run it", s.Name)
			}
			phases := map[string]bool{}
			for _, p := range s.Phases {
				if phases[p.Name] || p.Do == nil {
					t.Errorf("%s: phase %q is a duplicate or has no function", s.Name, p.Name)
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
			var terms []string
			for _, s := range group {
				terms = append(terms, s.Name)
			}
			groups = append(groups, strings.Join(terms, " "))
		}
		if got := strings.Join(groups, "|"); got != want {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
	if _, err := Choose(plan, []string{"d"}); err == nil || !strings.Contains(err.Error(), "a, b, c") {
		t.Errorf("an unknown name: %v", err)
	}
}
