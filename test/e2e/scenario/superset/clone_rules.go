package superset

import (
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

// copyRules list the pages that users may see. The schedule follows the clock: whether it fires while it is removed, and a
// maintenance page is seen then too, is the moment's doing.
func copyRules(all []*metastoreCopy, phases []load.Figures) []WebPhase {
	var rules []WebPhase
	for _, f := range phases {
		rule := WebPhase{Name: f.Phase, Pages: seenOf(all, "page"), Moves: true}
		for _, page := range seenOf(all, "maintenance") {
			if f.Phase != noSchedule || f.Classes["200 "+page] > 0 {
				rule.Pages = append(rule.Pages, page)
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

// seenOf are the pages of all Supersets.
func seenOf(all []*metastoreCopy, what ...string) []string {
	var out []string
	for _, c := range all {
		for _, w := range what {
			out = append(out, c.kind+" "+w)
		}
	}
	return out
}

// ticksEvery is after how many minutes a schedule may tick again if a copy takes as long as this. A sequence that is
// slower than its schedule never comes to its end on a busy node.
func ticksEvery(copying time.Duration) int {
	for _, minutes := range []int{2, 3, 5, 10, 15, 20} {
		if 2*copying <= time.Duration(minutes)*time.Minute {
			return minutes
		}
	}
	return 30
}
