package run

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

// NoFailure returns an error unless each phase has answers and every answer is good.
func NoFailure(phases []load.Figures) error {
	var problems []error
	for _, f := range phases {
		switch {
		case f.Failed > 0:
			problems = append(problems, fmt.Errorf("phase %s: %d of %d answers failed: %s", f.Phase, f.Failed, f.Answers, first(f.Failures)))
		case f.Answers == 0:
			problems = append(problems, fmt.Errorf("phase %s: no requests were answered", f.Phase))
		}
	}
	return errors.Join(problems...)
}

// ExecutedOnce returns an error if a request was executed twice, in any phase, or if a good answer lacks the report of
// its execution. It returns nil for servers that report no executions.
func ExecutedOnce(phases []load.Figures) error {
	var problems []error
	for _, f := range phases {
		if f.Twice > 0 || f.Unreported > 0 {
			problems = append(problems, fmt.Errorf("phase %s: of %d executed requests %d were executed twice, and %d have no report: %s",
				f.Phase, f.Executed, f.Twice, f.Unreported, first(f.Failures)))
		}
	}
	return errors.Join(problems...)
}

func first(failures []string) string {
	const few = 3
	if len(failures) == 0 {
		return "no failure was recorded"
	}
	return strings.Join(failures[:min(few, len(failures))], "; ")
}
