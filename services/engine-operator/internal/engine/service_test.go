package engine

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

const (
	notServing1  = "Generation 1, which the status names as active, does not serve; traffic stays on generation 0."
	notServing42 = "Generation 42, which the status names as active, does not serve; traffic stays on generation 0."
)

// followPlan returns the plan that records generation 0, which the Service selects, as active.
func followPlan(phase v1alpha1.EnginePhase, current, draining int64, message string) Plan {
	return Plan{
		Route: None, Next: State{Phase: phase, Current: current, Active: 0, Draining: draining, Allocated: 42},
		Requeue: RequeueNow, Reason: ReasonInconsistent, Message: message,
	}
}

func onlyServing0() Snapshot { return observed(0, map[int64]Generation{0: full()}) }

// noPods returns a generation of a stopped engine that matches the spec.
func noPods() Generation {
	return with(full(), func(g *Generation) { g.Replicas, g.PodsTotal, g.PodsReady = 0, 0, 0 })
}

// The decisions for a status that contradicts the cluster Service.
func TestDecideFollowsService(t *testing.T) {
	runEdges(t, withReplicas(2, map[string]edge{
		"stable keeps the generation that serves": {
			in: Input{State: at(v1alpha1.PhaseStable, 42, 42, None), Snapshot: onlyServing0()}, want: followPlan(v1alpha1.PhaseStable, 0, None, notServing42),
		},
		"stable without an active generation": {
			in:   Input{State: at(v1alpha1.PhaseStable, 42, None, None), Snapshot: onlyServing0()},
			want: followPlan(v1alpha1.PhaseStable, 0, None, "The status names no active generation; traffic stays on generation 0."),
		},
		"creating keeps a current generation that exists": {
			in: Input{
				State:    State{Phase: v1alpha1.PhaseCreating, Current: 1, Active: 42, Draining: None, Allocated: 42},
				Snapshot: observed(0, map[int64]Generation{0: older(), 1: waiting(full())}),
			},
			want: followPlan(v1alpha1.PhaseCreating, 1, None, notServing42),
		},
		"switching keeps the generation that serves": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 41, 42, None), Snapshot: onlyServing0()}, want: followPlan(v1alpha1.PhaseStable, 0, None, notServing42),
		},
		"an unknown phase": {
			in: Input{State: at("melting", 42, 42, None), Snapshot: onlyServing0()}, want: followPlan(v1alpha1.PhaseStable, 0, None, notServing42),
		},
		"an active generation without pods does not serve a started engine": {
			in: Input{
				State:    State{Phase: v1alpha1.PhaseStable, Current: 1, Active: 1, Draining: None, Allocated: 42},
				Snapshot: observed(0, map[int64]Generation{0: older(), 1: noPods()}),
			},
			want: followPlan(v1alpha1.PhaseCreating, 1, None, notServing1),
		},
	}))
}

// The same contradiction while the old generation is drained or removed.
func TestDecideFollowsServiceWhileDraining(t *testing.T) {
	runEdges(t, withReplicas(2, map[string]edge{
		"draining without a draining generation": {
			in: Input{State: at(v1alpha1.PhaseDraining, 42, 42, None), Snapshot: onlyServing0()}, want: followPlan(v1alpha1.PhaseStable, 0, None, notServing42),
		},
		"draining continues with the draining generation": {
			in: Input{
				State: at(v1alpha1.PhaseDraining, 42, 42, 1), Drain: Drain{Every: time.Second},
				Snapshot: observed(0, map[int64]Generation{0: full(), 1: older()}),
			},
			want: followPlan(v1alpha1.PhaseDraining, 0, 1, notServing42),
		},
		"draining keeps a draining generation that serves": {
			in: Input{
				State:    State{Phase: v1alpha1.PhaseDraining, Current: 1, Active: 1, Draining: 0, Allocated: 42},
				Snapshot: observed(0, map[int64]Generation{0: older(), 1: waiting(full())}),
			},
			want: followPlan(v1alpha1.PhaseCreating, 1, None, notServing1),
		},
		"cleaning without pods that are ready": {
			in:   Input{State: at(v1alpha1.PhaseCleaning, 42, 42, None), Snapshot: observed(0, map[int64]Generation{0: waiting(full())})},
			want: followPlan(v1alpha1.PhaseStable, 0, None, notServing42),
		},
	}))
}

// A Service that a status does not contradict is kept, or restored.
func TestDecideComparesServiceWithStatus(t *testing.T) {
	runEdges(t, withReplicas(2, map[string]edge{
		"creating switches when the Service selects the current generation": {
			in: Input{State: at(v1alpha1.PhaseCreating, 1, 0, None), Snapshot: observed(1, map[int64]Generation{0: waiting(older()), 1: full()})},
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseSwitching, 1, 0, None), Requeue: RequeueNow,
				Reason: "AlreadyRouted", Message: "Traffic is already routed to generation 1.",
			},
		},
		"switching does not route a started engine to a generation without pods": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 1, 0, None), Snapshot: observed(0, map[int64]Generation{0: older(), 1: noPods()})},
			want: Plan{
				Route: 0, Ensure: []Ensure{{Generation: 0, Headless: true}}, Next: at(v1alpha1.PhaseCreating, 1, 0, None), Requeue: RequeueNow,
				Reason: "NoLongerReady", Message: "Generation 1 is no longer ready to serve.",
			},
		},
		"an edited selector is restored while the active generation serves": {
			in: Input{
				State: at(v1alpha1.PhaseStable, 1, 1, None), Renderable: true,
				Snapshot: observed(0, map[int64]Generation{0: full(), 1: full()}),
			},
			want: Plan{
				Route: 1, Ensure: []Ensure{{Generation: 1, Headless: true, Config: true}},
				Next: at(v1alpha1.PhaseStable, 1, 1, None), Settled: true, Requeue: RequeueDrift,
			},
		},
	}))
}
