package superset

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

func TestEvaluateWebOfClones(t *testing.T) {
	all := metastoreCopies(&platform.Platform{})
	figures := func(phase string, classes ...string) []load.Figures {
		f := load.Figures{Phase: phase, Classes: map[string]int{}}
		for _, class := range classes {
			f.Classes[class]++
		}
		return []load.Figures{f}
	}
	evaluate := func(f []load.Figures) error { return EvaluateWeb(copyRules(all, f), func(string, ...any) {})(f) }
	const page, page2, maintenance, maintenance2 = "200 PostgreSQL page", "200 MySQL page", "200 PostgreSQL maintenance", "200 MySQL maintenance"
	for name, tc := range map[string]struct {
		f  []load.Figures
		ok bool
	}{
		"both pages":                               {figures(noSchedule, page, page2), true},
		"both pages and a scheduled clone":         {figures(noSchedule, page, page2, maintenance), true},
		"a page that was never served":             {figures(noSchedule, page, maintenance2), false},
		"an error":                                 {figures(noSchedule, page, page2, "500"), false},
		"refused while the Service changes":        {figures(noSchedule, page, page2, load.Refused), true},
		"all pages":                                {figures("changed rows", page, page2, maintenance, maintenance2), true},
		"a maintenance page that was never served": {figures("changed rows", page, page2, maintenance), false},
		"a torn answer":                            {figures("changed rows", page, page2, maintenance, maintenance2, load.Truncated), false},
	} {
		if err := evaluate(tc.f); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScheduleSlowsDownOnSlowNode(t *testing.T) {
	for copying, want := range map[time.Duration]int{20 * time.Second: 2, time.Minute: 2, 61 * time.Second: 3, 4 * time.Minute: 10, time.Hour: 30} {
		if got := scheduleMinutes(copying); got != want {
			t.Errorf("%s: every %d minutes, want %d", copying, got, want)
		}
	}
}

func TestSupersetManifestsAreValidYAML(t *testing.T) {
	for _, name := range []string{"superset-clone.yaml", "superset-repair.yaml"} {
		filled, err := platform.Manifest(name, "${NAME}", "a", "${TYPE}", "MySQL", "${HOST}", "mysql", "${USER}", "root")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(filled, "${") {
			t.Errorf("%s: a placeholder has no value", name)
		}
		for document := range strings.SplitSeq(filled, "\n---\n") {
			var o map[string]any
			if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, document)
			}
		}
	}
}

// EvaluateWeb must have a rule for each phase of Repair.
func TestRepairPhasesHaveRules(t *testing.T) {
	s := Repair(&platform.Platform{})
	var phases []load.Figures
	for _, phase := range s.Phases {
		phases = append(phases, load.Figures{Phase: phase.Name})
	}
	if err := s.Evaluate(phases); err == nil || strings.Contains(err.Error(), "no rule") {
		t.Errorf("a phase has no rule: %v", err)
	}
}

func TestCloneEndsWithoutSchedule(t *testing.T) {
	s := Clone(&platform.Platform{})
	if last := s.Phases[len(s.Phases)-1].Name; last != noSchedule || len(s.Watch) != 2 {
		t.Errorf("the last phase is %s, %d objects are watched", last, len(s.Watch))
	}
}
