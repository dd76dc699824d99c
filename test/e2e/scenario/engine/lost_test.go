package engine

import (
	"testing"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
)

func TestLostQueries(t *testing.T) {
	answers := func(fast, late, timeouts int) load.Figures {
		return load.Figures{
			Latency: []load.Bucket{{UpTo: load.LastBound, Count: fast}, {UpTo: -1, Count: late}},
			Classes: map[string]int{"200 engine": fast + late, load.Timeout: timeouts},
		}
	}
	for name, tc := range map[string]struct {
		figures load.Figures
		fails   bool
	}{
		"all within the bound":      {figures: answers(700, 0, 0)},
		"one that was being sent":   {figures: answers(700, 1, 0)},
		"one without an answer":     {figures: answers(700, 0, 1)},
		"those that ran":            {figures: answers(700, 2, 0), fails: true},
		"those that ran, no answer": {figures: answers(700, 0, 3), fails: true},
		"one late, one no answer":   {figures: answers(700, 1, 1), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := lostQueries(tc.figures); (err != nil) != tc.fails {
				t.Errorf("error %v, want one: %t", err, tc.fails)
			}
		})
	}
}
