package superset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
)

// Labels of the pages that users see.
const (
	OldPage         = "old page"
	NewPage         = "new page"
	MaintenancePage = "maintenance page"
)

// propagation is the number of seconds that the rules of a Service may lag behind its pods on a busy node. Until they are
// updated, connections may be refused.
const propagation = 5.0

// WebPhase is the rule of a phase: users must see each of the pages, and no other.
type WebPhase struct {
	Name  string
	Pages []string
	// Moves means that the Service selects other pods during the phase.
	Moves bool
}

// EvaluateWeb returns a check that requires each answer to be a page of the phase's rule, and each of these pages to be served.
// While a Service selects other pods, connections may fail, but a gap may not exceed propagation. The check notes the longest
// gap.
func EvaluateWeb(rules []WebPhase) func(*run.Step, []load.Figures) error {
	return func(s *run.Step, phases []load.Figures) error {
		var problems []error
		var longest load.Figures
		for _, f := range phases {
			i := slices.IndexFunc(rules, func(r WebPhase) bool { return r.Name == f.Phase })
			if i < 0 {
				problems = append(problems, fmt.Errorf("phase %s has no rule", f.Phase))
				continue
			}
			problems = append(problems, rules[i].evaluate(f))
			if f.LongestGap > longest.LongestGap {
				longest = f
			}
		}
		s.Note("Longest web gap: %.2f s (%s).", longest.LongestGap, longest.Phase)
		return errors.Join(problems...)
	}
}

func (r WebPhase) evaluate(f load.Figures) error {
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
	// Without failures, a gap is only a slow page.
	if f.Failed > 0 && f.LongestGap > propagation {
		problems = append(problems, fmt.Errorf("phase %s: %.1f s without a page from %s on, more than the %.1f s that a Service may lag behind its pods",
			f.Phase, f.LongestGap, f.GapStart.UTC().Format("15:04:05.000"), propagation))
	}
	return errors.Join(problems...)
}

// unconnected reports whether a request reached no server, which happens until a Service's rules match its pods.
func unconnected(class string) bool {
	return class == load.Refused || class == load.Unreachable
}
