package clone

import (
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/superset"
)

// copyRules returns the pages that users must see in each phase. While the schedule is removed, a scheduled time may or may
// not arrive, so the maintenance page is optional in that phase.
func copyRules(all []*metastoreCopy, phases []load.Figures) []superset.WebPhase {
	var rules []superset.WebPhase
	for _, f := range phases {
		rule := superset.WebPhase{Name: f.Phase, Pages: classesOf(all, "page"), Moves: true}
		for _, page := range classesOf(all, "maintenance") {
			if f.Phase != noSchedule || f.Classes["200 "+page] > 0 {
				rule.Pages = append(rule.Pages, page)
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

// classesOf returns the named pages of all Supersets.
func classesOf(all []*metastoreCopy, what ...string) []string {
	var out []string
	for _, c := range all {
		for _, w := range what {
			out = append(out, c.kind+" "+w)
		}
	}
	return out
}

// scheduleMinutes returns the interval of the schedule in minutes for a clone of this duration. On a busy node, a clone that takes
// longer than the interval would always be followed by the next one.
func scheduleMinutes(copying time.Duration) int {
	for _, minutes := range []int{2, 3, 5, 10, 15, 20} {
		if 2*copying <= time.Duration(minutes)*time.Minute {
			return minutes
		}
	}
	return 30
}
