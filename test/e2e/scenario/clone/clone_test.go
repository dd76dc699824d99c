package clone

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/superset"
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
	evaluate := func(f []load.Figures) error {
		return superset.EvaluateWeb(copyRules(all, f))(&run.Step{}, f)
	}
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

func TestDatabasesEndWithoutSchedule(t *testing.T) {
	s := Databases(&platform.Platform{})
	if last := s.Phases[len(s.Phases)-1].Name; last != noSchedule || len(s.Watch) != 2 {
		t.Errorf("the last phase is %s, %d objects are watched", last, len(s.Watch))
	}
}
