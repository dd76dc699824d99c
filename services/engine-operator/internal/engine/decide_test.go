package engine

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// The tests by phase have all edges of the state machine (specification 001 and reference 2.4), from a confirmed state.

func TestDecideNewEngine(t *testing.T) {
	runEdges(t, map[string]edge{
		"a new engine records the first generation and touches nothing": {
			in:   Input{State: StateOf(v1alpha1.FireboltEngineStatus{}), Snapshot: observed(None, nil)},
			want: Plan{Route: None, Next: at(v1alpha1.PhaseCreating, 0, None, None), Reason: "Initializing", Message: "The engine is new.", Requeue: RequeueNow},
		},
		"a lost status keeps what serves and reuses no number": {
			in: Input{State: StateOf(v1alpha1.FireboltEngineStatus{}), Snapshot: observed(3, map[int64]Generation{3: full()})},
			want: Plan{
				Route: None, Next: State{Phase: v1alpha1.PhaseCreating, Current: 4, Active: 3, Draining: None, Allocated: 4},
				Reason: "Initializing", Message: "The engine is new.", Requeue: RequeueNow,
			},
		},
	})
}

func TestDecideCreatingEdges(t *testing.T) {
	runEdges(t, map[string]edge{
		"creating builds all parts of a generation of which nothing exists": {
			in: Input{State: at(v1alpha1.PhaseCreating, 0, None, None), Snapshot: observed(None, nil), Renderable: true},
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseCreating, 0, None, None), Requeue: RequeueWait,
				Ensure: []Ensure{{Generation: 0, Config: true, Headless: true, StatefulSet: true}},
			},
		},
		"creating waits for the instance without building": {
			in:   Input{State: at(v1alpha1.PhaseCreating, 0, None, None), Snapshot: observed(None, nil)},
			want: Plan{Route: None, Next: at(v1alpha1.PhaseCreating, 0, None, None), Requeue: RequeueDependency},
		},
		"creating waits for pods, and keeps the serving generation reachable": {
			in: Input{State: at(v1alpha1.PhaseCreating, 1, 0, None), Renderable: true, Snapshot: observed(None, map[int64]Generation{
				0: older(), 1: with(full(), func(g *Generation) { g.PodsReady = 1 }),
			})},
			want: Plan{
				Route: 0, Next: at(v1alpha1.PhaseCreating, 1, 0, None), Requeue: RequeueWait,
				Ensure: []Ensure{{Generation: 0, Headless: true}, {Generation: 1, Config: true, Headless: true}},
			},
		},
		"creating switches when all pods are ready": {
			in: Input{State: at(v1alpha1.PhaseCreating, 1, 0, None), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: older(), 1: full()})},
			want: Plan{
				Route: 0, Ensure: serve(0), Next: at(v1alpha1.PhaseSwitching, 1, 0, None),
				Reason: "PodsReady", Message: "The pods of generation 1 are ready.", Requeue: RequeueNow,
			},
		},
		"creating records the next number before it touches an abandoned generation": {
			in: Input{State: at(v1alpha1.PhaseCreating, 1, 0, None), Renderable: true, Snapshot: observed(0, map[int64]Generation{
				0: older(), 1: older(),
			})},
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseCreating, 2, 0, None),
				Reason: "SpecChanged", Message: "Generation 1 is abandoned: the spec changed.", Requeue: RequeueNow,
			},
		},
		"creating deletes the abandoned generation, and waits for it before it builds a third": {
			in: Input{State: at(v1alpha1.PhaseCreating, 2, 0, None), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: older(), 1: older()})},
			want: Plan{
				Route: 0, Ensure: serve(0), Delete: []int64{1}, Next: at(v1alpha1.PhaseCreating, 2, 0, None), Requeue: RequeueWait,
				BlockedBy: []int64{1},
			},
		},
	})
}

func TestDecideSwitchingEdges(t *testing.T) {
	runEdges(t, map[string]edge{
		"switching moves the Service once the pods are ready": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 1, 0, None), Snapshot: observed(0, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()})},
			want: Plan{
				Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseSwitching, 1, 0, None), Requeue: RequeueNow,
			},
		},
		"switching goes back when the pods are not ready any more": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 1, 0, None), Snapshot: observed(0, map[int64]Generation{
				0: unknownMatch(), 1: with(unknownMatch(), func(g *Generation) { g.PodsReady = 0 }),
			})},
			want: Plan{
				Route: 0, Ensure: serve(0), Next: at(v1alpha1.PhaseCreating, 1, 0, None),
				Reason: "NoLongerReady", Message: "Generation 1 is no longer ready to serve.", Requeue: RequeueNow,
			},
		},
		"switching records a moved Service and drains the old generation": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 1, 0, None), Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()})},
			want: Plan{
				Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseDraining, 1, 1, 0),
				Reason: "Switched", Message: "Traffic is routed to generation 1.", Requeue: RequeueNow,
			},
		},
		"switching skips the drain of a rollout without one": {
			in: Input{
				State: at(v1alpha1.PhaseSwitching, 1, 0, None), Drain: Drain{Skip: true},
				Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()}),
			},
			want: Plan{
				Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseCleaning, 1, 1, 0),
				Reason: "DrainSkipped", Message: "Traffic is routed to generation 1. Generation 0 is removed without a drain check.", Requeue: RequeueNow,
			},
		},
		"switching of the first generation settles what is seen to match": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 0, None, None), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: full()})},
			want: Plan{
				Route: 0, Ensure: []Ensure{{Generation: 0, Config: true, Headless: true}}, Next: at(v1alpha1.PhaseStable, 0, 0, None), Settled: true,
				Reason: "Switched", Message: "Traffic is routed to generation 0.", Requeue: RequeueNow,
			},
			replicas: 2,
		},
		"switching of the first generation ends in stable": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 0, None, None), Snapshot: observed(0, map[int64]Generation{0: unknownMatch()})},
			want: Plan{
				Route: 0, Ensure: serve(0), Next: at(v1alpha1.PhaseStable, 0, 0, None),
				Reason: "Switched", Message: "Traffic is routed to generation 0.", Requeue: RequeueNow,
			},
			replicas: 2,
		},
		"switching of an engine at zero ends in stopped": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 0, None, None), Snapshot: observed(0, map[int64]Generation{0: unknownMatch()})},
			want: Plan{
				Route: 0, Ensure: serve(0), Next: at(v1alpha1.PhaseStopped, 0, 0, None),
				Reason: "Switched", Message: "Traffic is routed to generation 0.", Requeue: RequeueNow,
			},
		},
	})
}

func TestDecideDrainingEdges(t *testing.T) {
	runEdges(t, map[string]edge{
		"draining waits for queries": {
			in: Input{
				State: at(v1alpha1.PhaseDraining, 1, 1, 0), Drain: Drain{Every: 5 * time.Second},
				Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()}),
			},
			want: Plan{Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseDraining, 1, 1, 0), Requeue: 5 * time.Second},
		},
		"draining keeps the configuration of what serves while it is what would be rendered now": {
			in: Input{
				State: at(v1alpha1.PhaseDraining, 1, 1, 0), Drain: Drain{Every: 5 * time.Second}, Renderable: true,
				Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: full()}),
			},
			want: Plan{
				Route: 1, Ensure: []Ensure{{Generation: 1, Config: true, Headless: true}},
				Next: at(v1alpha1.PhaseDraining, 1, 1, 0), Requeue: 5 * time.Second,
			},
		},
		"draining ends when no query is left": {
			in: Input{
				State: at(v1alpha1.PhaseDraining, 1, 1, 0), Drain: Drain{Drained: true},
				Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()}),
			},
			want: Plan{
				Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseCleaning, 1, 1, 0),
				Reason: "Drained", Message: "Generation 0 has no queries left.", Requeue: RequeueNow,
			},
		},
		"draining is passed through when the check is off": {
			in: Input{
				State: at(v1alpha1.PhaseDraining, 1, 1, 0), Drain: Drain{Skip: true},
				Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()}),
			},
			want: Plan{
				Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseCleaning, 1, 1, 0),
				Reason: "DrainSkipped", Message: "Generation 0 is removed without a drain check.", Requeue: RequeueNow,
			},
		},
		"draining repairs a Service that was moved back": {
			in: Input{
				State: at(v1alpha1.PhaseDraining, 1, 1, 0), Drain: Drain{Every: time.Second},
				Snapshot: observed(0, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()}),
			},
			want: Plan{Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseDraining, 1, 1, 0), Requeue: time.Second},
		},
	})
}

func TestDecideCleaningEdges(t *testing.T) {
	runEdges(t, map[string]edge{
		"cleaning deletes the old generation and stays": {
			in: Input{State: at(v1alpha1.PhaseCleaning, 1, 1, 0), Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()})},
			want: Plan{
				Route: 1, Ensure: serve(1), Delete: []int64{0}, Next: at(v1alpha1.PhaseCleaning, 1, 1, 0), Requeue: RequeueWait,
			},
		},
		"cleaning moves the Service before it deletes what the Service selects": {
			in:   Input{State: at(v1alpha1.PhaseCleaning, 1, 1, 0), Snapshot: observed(0, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()})},
			want: Plan{Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseCleaning, 1, 1, 0), Requeue: RequeueNow},
		},
		"cleaning ends when the old generation is gone": {
			in: Input{State: at(v1alpha1.PhaseCleaning, 1, 1, 0), Snapshot: observed(1, map[int64]Generation{1: unknownMatch()})},
			want: Plan{
				Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseStable, 1, 1, None),
				Reason: "RolledOut", Message: "Generation 1 serves; generation 0 was removed.", Requeue: RequeueNow,
			},
			replicas: 2,
		},
	})
}

func TestDecideTerminalEdges(t *testing.T) {
	runEdges(t, map[string]edge{
		"stable without a difference is settled": {
			in: Input{State: at(v1alpha1.PhaseStable, 1, 1, None), Renderable: true, Snapshot: observed(1, map[int64]Generation{1: full()})},
			want: Plan{
				Route: 1, Ensure: []Ensure{{Generation: 1, Config: true, Headless: true}},
				Next: at(v1alpha1.PhaseStable, 1, 1, None), Settled: true, Requeue: RequeueDrift,
			},
			replicas: 2,
		},
		"stable repairs a missing Service and a missing configuration in place": {
			in: Input{State: at(v1alpha1.PhaseStable, 1, 1, None), Renderable: true, Snapshot: observed(None, map[int64]Generation{
				1: with(full(), func(g *Generation) { g.Config = Absent }),
			})},
			want: Plan{
				Route: 1, Ensure: []Ensure{{Generation: 1, Config: true, Headless: true}},
				Next: at(v1alpha1.PhaseStable, 1, 1, None), Settled: true, Requeue: RequeueDrift,
			},
			replicas: 2,
		},
		"stable only records the next generation when its StatefulSet is gone": {
			in: Input{State: at(v1alpha1.PhaseStable, 1, 1, None), Renderable: true, Snapshot: observed(1, nil)},
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseCreating, 2, 1, None),
				Reason: "StatefulSetMissing", Message: "The StatefulSet of generation 1 was deleted.", Requeue: RequeueNow,
			},
			replicas: 2,
		},
		"stable becomes stopped when that is what is wanted of the generation that serves": {
			in: Input{State: at(v1alpha1.PhaseStable, 1, 1, None), Renderable: true, Snapshot: observed(1, map[int64]Generation{1: full()})},
			want: Plan{
				Route: 1, Ensure: []Ensure{{Generation: 1, Config: true, Headless: true}}, Next: at(v1alpha1.PhaseStopped, 1, 1, None), Settled: true,
				Reason: "ReplicasChanged", Message: "The terminal phase follows the desired replicas.", Requeue: RequeueNow,
			},
		},
		"stable without its instance keeps serving and decides nothing": {
			in:       Input{State: at(v1alpha1.PhaseStable, 1, 1, None), Snapshot: observed(1, map[int64]Generation{1: unknownMatch()})},
			want:     Plan{Route: 1, Ensure: serve(1), Next: at(v1alpha1.PhaseStable, 1, 1, None), Requeue: RequeueDependency},
			replicas: 2,
		},
		"an unknown phase leads to the terminal one": {
			in: Input{State: at("melting", 1, 1, None), Snapshot: observed(1, map[int64]Generation{1: unknownMatch()})},
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseStable, 1, 1, None),
				Reason: "UnknownPhase", Message: "The recorded phase is unknown to this release.", Requeue: RequeueNow,
			},
			replicas: 2,
		},
	})
}
