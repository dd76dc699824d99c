package engine

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// A cluster Service that is deleted during a rollout is recreated for the generation that
// should serve, in every phase, and never for one that is not ready.
func TestDefect4DeletedServiceSelectsServingGeneration(t *testing.T) {
	starting := waiting(full())
	cases := map[string]struct {
		state State
		gens  map[int64]Generation
		want  int64
	}{
		"stable":                        {at(v1alpha1.PhaseStable, 0, 0, None), map[int64]Generation{0: full()}, 0},
		"stopped":                       {at(v1alpha1.PhaseStopped, 0, 0, None), map[int64]Generation{0: full()}, 0},
		"creating":                      {at(v1alpha1.PhaseCreating, 1, 0, None), map[int64]Generation{0: older(), 1: starting}, 0},
		"creating of a ready one":       {at(v1alpha1.PhaseCreating, 1, 0, None), map[int64]Generation{0: older(), 1: full()}, 0},
		"creating the first generation": {at(v1alpha1.PhaseCreating, 0, None, None), map[int64]Generation{0: starting}, None},
		"switching to a ready one":      {at(v1alpha1.PhaseSwitching, 1, 0, None), map[int64]Generation{0: older(), 1: full()}, 1},
		"switching, no longer ready":    {at(v1alpha1.PhaseSwitching, 1, 0, None), map[int64]Generation{0: older(), 1: starting}, 0},
		"draining":                      {at(v1alpha1.PhaseDraining, 1, 1, 0), map[int64]Generation{0: unknownMatch(), 1: full()}, 1},
		"cleaning":                      {at(v1alpha1.PhaseCleaning, 1, 1, 0), map[int64]Generation{0: unknownMatch(), 1: full()}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, renderable := range []bool{true, false} {
				p := Decide(Input{State: tc.state, Snapshot: observed(None, tc.gens), Renderable: renderable, Confirmed: true, Replicas: 2})
				if p.Route != tc.want {
					t.Errorf("renderable=%t: the Service goes to %d, want %d", renderable, p.Route, tc.want)
				}
			}
		})
	}
}

// Traffic never moves to pods that were ready once: switching checks again.
func TestDefect5SwitchingChecksPodsAgain(t *testing.T) {
	p := Decide(Input{
		State: at(v1alpha1.PhaseSwitching, 1, 0, None), Confirmed: true,
		Snapshot: observed(0, map[int64]Generation{0: older(), 1: waiting(full())}),
	})
	if p.Route != 0 || p.Next.Phase != v1alpha1.PhaseCreating {
		t.Errorf("the Service goes to %d and the phase to %q, want 0 and creating", p.Route, p.Next.Phase)
	}
}

// Terminating and evicted pods do not count, so they neither replace nor
// exceed the desired pods of a generation.
func TestDefect10ReadinessCountsDesiredPods(t *testing.T) {
	cases := map[string]struct {
		total, ready int32
		want         bool
	}{
		"all that are wanted":            {2, 2, true},
		"one is still starting":          {2, 1, false},
		"one does not exist yet":         {1, 1, false},
		"one too many, not gone yet":     {3, 3, false},
		"the only ones that exist start": {1, 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := full()
			g.PodsTotal, g.PodsReady = tc.total, tc.ready
			if got := g.ready(); got != tc.want {
				t.Errorf("ready = %t, want %t", got, tc.want)
			}
		})
	}
}
