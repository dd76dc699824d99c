package run

import (
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

func TestExecutedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		figures load.Figures
		want    string
	}{
		"servers without reports": {load.Figures{Answers: 3}, ""},
		"one execution of each":   {load.Figures{Answers: 3, Executed: 3}, ""},
		"two executions of one":   {load.Figures{Answers: 3, Executed: 3, Twice: 1}, "1 were executed twice"},
		"a missing report":        {load.Figures{Answers: 3, Executed: 2, Unreported: 1}, "1 have no report"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ExecutedOnce([]load.Figures{{}, c.figures})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
