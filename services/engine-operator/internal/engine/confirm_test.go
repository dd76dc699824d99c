package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// A deletion confirms the state and the route of the Service.
func TestDecideConfirmsRouteBeforeDeletion(t *testing.T) {
	in := Input{State: at(v1alpha1.PhaseCleaning, 1, 1, 0), Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()})}
	if p := Decide(in); !p.Confirm {
		t.Errorf("the deletion of what may serve again is not confirmed: %+v", p)
	}
	in.Confirmed = true
	p := Decide(in)
	want := []Write{
		{EnsureHeadless, 1},
		{RouteService, 1},
		{ConfirmUnrouted, 0},
		{DeleteStatefulSet, 0},
		{DeleteHeadless, 0},
		{DeleteConfig, 0},
	}
	if diff := cmp.Diff(want, p.Writes()); diff != "" {
		t.Errorf("writes of cleaning (-want +got):\n%s", diff)
	}
}

func TestDecideConfirmsOutdatedState(t *testing.T) {
	cases := map[string]Input{
		"before anything is created": {State: at(v1alpha1.PhaseCreating, 0, None, None), Snapshot: observed(None, nil), Renderable: true},
		"before the Service moves":   {State: at(v1alpha1.PhaseSwitching, 1, 0, None), Snapshot: observed(0, map[int64]Generation{0: full(), 1: full()})},
		"when a child is newer than the status": {
			State: at(v1alpha1.PhaseStable, 1, 1, None), Renderable: true, Replicas: 2,
			Snapshot: observed(1, map[int64]Generation{1: full(), 2: full()}),
		},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			want := Plan{Confirm: true, Route: None, Next: in.State}
			if diff := cmp.Diff(want, Decide(in)); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}
