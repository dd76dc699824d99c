package superset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

// The pages that a user of the shop sees.
const (
	OldPage         = "old page"
	NewPage         = "new page"
	MaintenancePage = "maintenance page"
)

// propagation is how many seconds a Service may take to follow its pods on a busy node: meanwhile connections may be
// refused.
const propagation = 5.0

// WebPhase is a phase with the pages that users must see in it, and no others.
type WebPhase struct {
	Name  string
	Pages []string
	// Moves means that the Service selects other pods meanwhile.
	Moves bool
}

// JudgeWeb wants each answer to be one of the phase's pages, and each of them to be seen. While the Service moves,
// connections may fail, as long as no more than its propagation passes without a page. note gets the longest gap.
func JudgeWeb(rules []WebPhase, note func(string, ...any)) func([]load.Figures) error {
	return func(phases []load.Figures) error {
		var problems []error
		var longest load.Figures
		for _, f := range phases {
			i := slices.IndexFunc(rules, func(r WebPhase) bool { return r.Name == f.Phase })
			if i < 0 {
				problems = append(problems, fmt.Errorf("phase %s has no rule", f.Phase))
				continue
			}
			problems = append(problems, rules[i].judge(f))
			if f.LongestGap > longest.LongestGap {
				longest = f
			}
		}
		note("Longest web gap: %.2f s (%s).", longest.LongestGap, longest.Phase)
		return errors.Join(problems...)
	}
}

func (r WebPhase) judge(f load.Figures) error {
	var problems []error
	missing := map[string]bool{}
	for _, page := range r.Pages {
		missing["200 "+page] = true
	}
	for _, class := range slices.Sorted(maps.Keys(f.Classes)) {
		switch {
		case missing[class]:
			delete(missing, class)
		case r.Moves && unconnected(class):
		default:
			problems = append(problems, fmt.Errorf("phase %s: %d answers are %q: %s", f.Phase, f.Classes[class], class,
				strings.Join(f.Failures[:min(3, len(f.Failures))], "; ")))
		}
	}
	if len(missing) > 0 {
		problems = append(problems, fmt.Errorf("phase %s: %v was never served", f.Phase, slices.Sorted(maps.Keys(missing))))
	}
	// Where nothing failed, a gap is a page that took its time.
	if f.Failed > 0 && f.LongestGap > propagation {
		problems = append(problems, fmt.Errorf("phase %s: %.1f s without a page from %s on, more than the %.1f s in which a Service follows",
			f.Phase, f.LongestGap, f.GapBegan.UTC().Format("15:04:05.000"), propagation))
	}
	return errors.Join(problems...)
}

// unconnected reports whether a request found no server, which happens until a Service's rules have followed its pods.
func unconnected(class string) bool {
	return class == load.Refused || class == load.Unreachable
}
