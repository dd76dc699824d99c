package statusevents

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
)

// recorded returns the status with a state.
func recorded(s engine.State) v1alpha1.FireboltEngineStatus {
	out := v1alpha1.FireboltEngineStatus{
		Phase: s.Phase, CurrentGeneration: s.Current, ActiveGeneration: s.Active,
		LastAllocatedGeneration: new(s.Allocated), RejectedRendering: s.Rejected,
	}
	if s.Draining != engine.None {
		out.DrainingGeneration = new(s.Draining)
	}
	return out
}

// TestDiffSkippedDrainHasNoStart checks that a skipped drain does not get the start of an earlier one.
func TestDiffSkippedDrainHasNoStart(t *testing.T) {
	switching := engineWith(draining5, to(v1alpha1.PhaseStable, 40, "RolledOut", ""), to(v1alpha1.PhaseCreating, 50, "SpecChanged", ""),
		to(v1alpha1.PhaseSwitching, 60, "PodsReady", ""), generations(6, 5))
	n := Diff(switching.Status, engineWith(switching, to(v1alpha1.PhaseCleaning, 61, engine.ReasonDrainSkipped, ""), generations(6, 6)).Status)
	if n.Drain != Skipped || n.DrainingSince != nil {
		t.Errorf("the drain ended as %q and began at %v", n.Drain, n.DrainingSince)
	}
}

var (
	complete = engine.Generation{StatefulSet: engine.Present, Headless: engine.Present, Config: engine.Present, Match: engine.Same}
	differs  = engine.Generation{StatefulSet: engine.Present, Headless: engine.Present, Config: engine.Present, Match: engine.Differs}
	both     = map[int64]engine.Generation{4: complete, 5: complete}
)

func stateOf(p v1alpha1.EnginePhase, current, active, draining int64) engine.State {
	return engine.State{Phase: p, Current: current, Active: active, Draining: draining, Allocated: 5}
}

func snapshotOf(route int64, of map[int64]engine.Generation) engine.Snapshot {
	return engine.Snapshot{Route: route, Generations: of}
}

// decisionRow is the input of a decision with the change that Diff returns for it.
type decisionRow struct {
	in      engine.Input
	reason  string // of the transition; empty when the phase stays
	started bool
	outcome Outcome
	drain   Drain
}

// TestDiffMatchesDecision compares the reasons that Diff interprets with those of package engine.
func TestDiffMatchesDecision(t *testing.T) {
	for _, rows := range []map[string]decisionRow{rolloutDecisions(), drainDecisions(), correctingDecisions()} {
		for name, tc := range rows {
			t.Run(name, tc.check)
		}
	}
}

func (tc decisionRow) check(t *testing.T) {
	t.Helper()
	tc.in.Renderable, tc.in.Confirmed, tc.in.Desired, tc.in.OwnSpecChanged, tc.in.Replicas = true, true, "wanted", true, 2
	plan := engine.Decide(tc.in)
	before, after := recorded(tc.in.State), recorded(plan.Next)
	if tc.in.State.Phase == "" {
		before = v1alpha1.FireboltEngineStatus{}
	}
	n := Diff(before, after)
	if n.Started != tc.started || n.Outcome != tc.outcome || n.Moved != (tc.reason != "") {
		t.Errorf("change: started %v, outcome %q, moved %v", n.Started, n.Outcome, n.Moved)
	}
	if n.Moved && plan.Reason != tc.reason {
		t.Errorf("the decision gives the reason %s", plan.Reason)
	}
	if got := drained(plan.Reason); got != tc.drain {
		t.Errorf("the drain ended as %q", got)
	}
}

func rolloutDecisions() map[string]decisionRow {
	return map[string]decisionRow{
		"a new engine": {in: engine.Input{State: engine.StateOf(v1alpha1.FireboltEngineStatus{}), Snapshot: snapshotOf(-1, nil)}, reason: v1alpha1.ReasonInitializing, started: true},
		"a changed spec": {
			in:     engine.Input{State: stateOf(v1alpha1.PhaseStable, 4, 4, -1), Snapshot: snapshotOf(4, map[int64]engine.Generation{4: differs})},
			reason: "SpecChanged", started: true,
		},
		"a deleted StatefulSet": {
			in:     engine.Input{State: stateOf(v1alpha1.PhaseStable, 4, 4, -1), Snapshot: snapshotOf(4, nil)},
			reason: engine.ReasonStatefulSetMissing, started: true,
		},
		"a spec changed again": {
			in:      engine.Input{State: stateOf(v1alpha1.PhaseCreating, 5, 4, -1), Snapshot: snapshotOf(4, map[int64]engine.Generation{4: differs, 5: differs})},
			started: true, outcome: Abandoned,
		},
		"a reverted spec": {
			in:     engine.Input{State: stateOf(v1alpha1.PhaseCreating, 5, 4, -1), Snapshot: snapshotOf(4, map[int64]engine.Generation{4: complete, 5: differs})},
			reason: "Reverted", outcome: Reverted,
		},
		"an overdue generation": {
			in: engine.Input{
				State: stateOf(v1alpha1.PhaseCreating, 5, 4, -1), Overdue: true, Rollback: true,
				Snapshot: snapshotOf(4, map[int64]engine.Generation{
					4: {StatefulSet: engine.Present, Match: engine.Differs, Replicas: 2}, 5: {StatefulSet: engine.Present, Match: engine.Same, Replicas: 2},
				}),
			},
			reason: engine.ReasonRolledBack, outcome: RolledBack,
		},
		"a ready generation": {in: engine.Input{State: stateOf(v1alpha1.PhaseCreating, 5, 4, -1), Snapshot: snapshotOf(4, map[int64]engine.Generation{4: differs, 5: complete})}, reason: "PodsReady"},
		"routed traffic":     {in: engine.Input{State: stateOf(v1alpha1.PhaseSwitching, 5, 4, -1), Snapshot: snapshotOf(5, both)}, reason: "Switched"},
		"the first routed traffic": {
			in:     engine.Input{State: stateOf(v1alpha1.PhaseSwitching, 5, -1, -1), Snapshot: snapshotOf(5, map[int64]engine.Generation{5: complete})},
			reason: "Switched", outcome: Completed,
		},
		"a deleted old generation": {in: engine.Input{State: stateOf(v1alpha1.PhaseCleaning, 5, 5, 4), Snapshot: snapshotOf(5, map[int64]engine.Generation{5: complete})}, reason: "RolledOut", outcome: Completed},
	}
}

func drainDecisions() map[string]decisionRow {
	return map[string]decisionRow{
		"a finished drain":    {in: engine.Input{State: stateOf(v1alpha1.PhaseDraining, 5, 5, 4), Snapshot: snapshotOf(5, both), Drain: engine.Drain{Drained: true}}, reason: engine.ReasonDrained, drain: Drained},
		"a disabled drain":    {in: engine.Input{State: stateOf(v1alpha1.PhaseDraining, 5, 5, 4), Snapshot: snapshotOf(5, both), Drain: engine.Drain{Skip: true}}, reason: engine.ReasonDrainSkipped, drain: Skipped},
		"an expired drain":    {in: engine.Input{State: stateOf(v1alpha1.PhaseDraining, 5, 5, 4), Snapshot: snapshotOf(5, both), Drain: engine.Drain{Expired: true}}, reason: v1alpha1.ReasonDrainTimeoutExceeded, drain: Expired},
		"a drain in progress": {in: engine.Input{State: stateOf(v1alpha1.PhaseDraining, 5, 5, 4), Snapshot: snapshotOf(5, both)}},
	}
}

// correctingDecisions returns decisions that correct an inconsistent status.
func correctingDecisions() map[string]decisionRow {
	return map[string]decisionRow{
		"a phase that creates the serving generation": {
			in:     engine.Input{State: stateOf(v1alpha1.PhaseCreating, 5, 5, -1), Snapshot: snapshotOf(5, map[int64]engine.Generation{5: complete})},
			reason: "AlreadyActive",
		},
		"an inconsistent state": {in: engine.Input{State: stateOf(v1alpha1.PhaseStable, 5, 4, -1), Snapshot: snapshotOf(4, both)}, reason: engine.ReasonInconsistent},
		"a phase of another release": {
			in:     engine.Input{State: stateOf("resting", 5, 5, -1), Snapshot: snapshotOf(5, map[int64]engine.Generation{5: complete})},
			reason: engine.ReasonUnknownPhase,
		},
	}
}
