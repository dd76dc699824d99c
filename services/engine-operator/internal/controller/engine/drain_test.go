package engine

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func TestExpiredFollowsDrainTimeout(t *testing.T) {
	switched := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		timeout, elapsed time.Duration
		isExpired        bool
		remaining        time.Duration
	}{
		"no timeout never ends":     {0, 1000 * time.Hour, false, 0},
		"a negative one neither":    {-time.Hour, 1000 * time.Hour, false, 0},
		"the rest of it is waited":  {time.Hour, 50 * time.Minute, false, 10 * time.Minute},
		"it ends on the moment":     {time.Hour, time.Hour, true, 0},
		"and stays so":              {time.Hour, 2 * time.Hour, true, 0},
		"a clock that lags behind":  {time.Hour, -time.Minute, false, 61 * time.Minute},
		"a moment before is not it": {time.Hour, time.Hour - 1, false, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			isExpired, remaining := expired(switched, tc.timeout, switched.Add(tc.elapsed))
			if isExpired != tc.isExpired || remaining != tc.remaining {
				t.Errorf("expired = %t, %s; want %t, %s", isExpired, remaining, tc.isExpired, tc.remaining)
			}
		})
	}
}

func TestSwitchedAtUsesLatestDrainingTransition(t *testing.T) {
	at := func(hour int, to v1alpha1.EnginePhase) transition.Entry {
		return transition.Entry{Time: metav1.NewTime(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)), To: string(to)}
	}
	entries := []transition.Entry{at(1, v1alpha1.PhaseDraining), at(2, v1alpha1.PhaseStable), at(3, v1alpha1.PhaseDraining), at(4, v1alpha1.PhaseCleaning)}
	if got, want := switchedAt(entries), time.Date(2026, 1, 1, 3, 0, 1, 0, time.UTC); !got.Equal(want) {
		t.Errorf("switched at %s, want %s", got, want)
	}
	if got := switchedAt(entries[1:2]); !got.IsZero() {
		t.Errorf("switched at %s, although it is not recorded", got)
	}
}
