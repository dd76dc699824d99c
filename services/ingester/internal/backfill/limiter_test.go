package backfill

import (
	"testing"

	"golang.org/x/time/rate"
)

func TestLimiterFollowsRateFlag(t *testing.T) {
	for flag, want := range map[int]rate.Limit{500: 500, 0: rate.Inf} {
		c := Command{Rate: flag}
		if got := c.limiter().Limit(); got != want {
			t.Errorf("--rate %d makes %v rows per second", flag, got)
		}
	}
}
