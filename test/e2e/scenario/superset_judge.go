package scenario

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
	oldPage         = "old page"
	newPage         = "new page"
	maintenancePage = "maintenance page"
)

// propagation is how many seconds a Service may take to follow its pods on a busy node: meanwhile connections may be
// refused.
const propagation = 5.0

// webPhase is a phase with the pages that users must see in it, and no others.
type webPhase struct {
	name  string
	pages []string
	// moves means that the Service selects other pods meanwhile.
	moves bool
}

// judgeWeb wants each answer to be one of the phase's pages, and each of them to be seen. While the Service moves,
// connections may fail, as long as no more than its propagation passes without a page. note gets the longest gap.
func judgeWeb(rules []webPhase, note func(string, ...any)) func([]load.Figures) error {
	return func(phases []load.Figures) error {
		var problems []error
		var longest load.Figures
		for _, f := range phases {
			i := slices.IndexFunc(rules, func(r webPhase) bool { return r.name == f.Phase })
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

func (r webPhase) judge(f load.Figures) error {
	var problems []error
	missing := map[string]bool{}
	for _, page := range r.pages {
		missing["200 "+page] = true
	}
	for _, class := range slices.Sorted(maps.Keys(f.Classes)) {
		switch {
		case missing[class]:
			delete(missing, class)
		case r.moves && unconnected(class):
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
