package engine

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// BenchmarkDecide measures engine.compute.ns_per_op of the budgets: one decision,
// alternating between the phases of a rollout.
func BenchmarkDecide(b *testing.B) {
	both := observed(0, map[int64]Generation{0: older(), 1: full()})
	moved := observed(1, map[int64]Generation{0: older(), 1: full()})
	inputs := []Input{
		{State: at(v1alpha1.PhaseStable, 0, 0, None), Snapshot: observed(0, map[int64]Generation{0: older()})},
		{State: at(v1alpha1.PhaseCreating, 1, 0, None), Snapshot: both},
		{State: at(v1alpha1.PhaseSwitching, 1, 0, None), Snapshot: both},
		{State: at(v1alpha1.PhaseDraining, 1, 1, 0), Snapshot: moved, Drain: Drain{Drained: true}},
		{State: at(v1alpha1.PhaseCleaning, 1, 1, 0), Snapshot: moved},
		{State: at(v1alpha1.PhaseStable, 1, 1, None), Snapshot: observed(1, map[int64]Generation{1: full()})},
	}
	for i := range inputs {
		inputs[i].Renderable, inputs[i].Confirmed, inputs[i].OwnSpecChanged, inputs[i].Replicas = true, true, true, 2
	}
	b.ReportAllocs()
	for i := range b.N {
		Decide(inputs[i%len(inputs)])
	}
}
