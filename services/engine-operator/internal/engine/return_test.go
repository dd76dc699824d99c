package engine

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func waiting(g Generation) Generation { g.PodsReady = 0; return g }

func rejecting(s State, rendering string) State { s.Rejected = rendering; return s }

// building returns the state in which generation 1 is built and generation 0 serves.
func building() State { return at(v1alpha1.PhaseCreating, 1, 0, None) }

// returned returns the state after the return to generation 0.
func returned() State {
	return State{Phase: v1alpha1.PhaseStable, Current: 0, Active: 0, Draining: None, Allocated: 1}
}

// buildPlan returns the plan that continues to build generation 1.
func buildPlan() Plan {
	return Plan{
		Route: 0, Ensure: []Ensure{{Generation: 0, Headless: true}, {Generation: 1, Config: true, Headless: true}},
		Next: building(), Requeue: RequeueWait,
	}
}

// inPlace returns the objects of generation 0 that are repaired in place.
func inPlace() []Ensure { return []Ensure{{Generation: 0, Headless: true, Config: true}} }

// A reverted spec returns to the serving generation (defect 6).
func TestDecideReverts(t *testing.T) {
	reverted := func(ensure []Ensure) Plan {
		return Plan{
			Route: 0, Ensure: ensure, Next: returned(), Requeue: RequeueNow,
			Settled: true,
			Reason:  "Reverted", Message: "The spec was reverted to generation 0; generation 1 is abandoned.",
		}
	}
	runEdges(t, map[string]edge{
		"a reverted spec abandons the new generation": {
			in: Input{State: building(), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: full(), 1: older()})}, replicas: 2,
			want: reverted(serve(0)),
		},
		"a reverted spec abandons a new generation that does not exist yet": {
			in: Input{State: building(), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: full()})}, replicas: 2,
			want: reverted(serve(0)),
		},
		"no return from a new generation that matches the spec too": {
			in:   Input{State: building(), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: full(), 1: waiting(full())})},
			want: buildPlan(),
		},
		"no return to a terminating StatefulSet": {
			in: Input{State: building(), Renderable: true, Snapshot: observed(0, map[int64]Generation{
				0: with(full(), func(g *Generation) { g.StatefulSet = Terminating }), 1: waiting(older()),
			})},
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseCreating, 2, 0, None), Requeue: RequeueNow,
				Reason: "SpecChanged", Message: "Generation 1 is abandoned: the spec changed.",
			},
		},
		"after a return the abandoned generation is deleted and its number stays used": {
			in: Input{State: returned(), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: full(), 1: older()})}, replicas: 2,
			want: Plan{Route: 0, Ensure: inPlace(), Delete: []int64{1}, Next: returned(), Settled: true, Requeue: RequeueDrift},
		},
	})
}

// A generation that misses its progress deadline is rolled back (defect 7).
func TestDecideRollsBack(t *testing.T) {
	overdue := func(current, active Generation) Input {
		return Input{
			State: building(), Renderable: true, Desired: "bad", Overdue: true, Rollback: true,
			Snapshot: observed(0, map[int64]Generation{0: active, 1: current}),
		}
	}
	runEdges(t, map[string]edge{
		"an overdue generation is rolled back to the serving one": {
			in: overdue(waiting(full()), older()), replicas: 2,
			want: Plan{
				Route: 0, Ensure: serve(0), Next: rejecting(returned(), "bad"), Requeue: RequeueNow,
				Reason: "RolledBack", Message: "Generation 1 missed its progress deadline; generation 0 keeps serving.",
			},
		},
		"an overdue generation stays without automatic rollback": {
			in:   func() Input { in := overdue(waiting(full()), older()); in.Rollback = false; return in }(),
			want: buildPlan(),
		},
		"an overdue generation that became ready is switched to": {
			in: overdue(full(), older()),
			want: Plan{
				Route: 0, Ensure: serve(0), Next: at(v1alpha1.PhaseSwitching, 1, 0, None), Requeue: RequeueNow,
				Reason: "PodsReady", Message: "The pods of generation 1 are ready.",
			},
		},
		"a rendering that was never built is not rejected": {
			in: overdue(Generation{}, older()),
			want: Plan{
				Route: 0, Ensure: []Ensure{{Generation: 0, Headless: true}, {Generation: 1, Config: true, Headless: true, StatefulSet: true}},
				Next: building(), Requeue: RequeueWait,
			},
		},
		"an overdue generation stays when the engine was stopped before": {
			in:   overdue(waiting(full()), with(older(), func(g *Generation) { g.Replicas, g.PodsTotal, g.PodsReady = 0, 0, 0 })),
			want: buildPlan(), replicas: 2,
		},
		"an overdue generation stays without a generation to return to": {
			in: overdue(waiting(full()), Generation{}), want: buildPlan(),
		},
		"an overdue generation whose StatefulSet was edited is rolled back": {
			in: overdue(edited(), older()), replicas: 2,
			want: Plan{
				Route: 0, Ensure: serve(0), Next: rejecting(returned(), "bad"), Requeue: RequeueNow,
				Reason: "RolledBack", Message: "Generation 1 missed its progress deadline; generation 0 keeps serving.",
			},
		},
		"an overdue generation is not rejected for another spec": {
			in: overdue(older(), older()),
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseCreating, 2, 0, None), Requeue: RequeueNow,
				Reason: "SpecChanged", Message: "Generation 1 is abandoned: the spec changed.",
			},
		},
	})
}

func TestDecideSkipsRejectedRendering(t *testing.T) {
	runEdges(t, map[string]edge{
		"a rejected rendering is not built again, and the serving generation is kept complete": {
			in: Input{
				State: rejecting(returned(), "bad"), Renderable: true, Desired: "bad", OwnSpecChanged: true,
				Snapshot: observed(None, map[int64]Generation{0: with(older(), func(g *Generation) { g.Config = Absent })}),
			},
			replicas: 2,
			want:     Plan{Route: 0, Ensure: inPlace(), Next: rejecting(returned(), "bad"), Requeue: RequeueDrift},
		},
		"the configuration of the serving generation is not overwritten with a rejected one": {
			in: Input{
				State: rejecting(returned(), "bad"), Renderable: true, Desired: "bad", OwnSpecChanged: true,
				Snapshot: observed(0, map[int64]Generation{0: older()}),
			},
			replicas: 2,
			want:     Plan{Route: 0, Ensure: serve(0), Next: rejecting(returned(), "bad"), Requeue: RequeueDrift},
		},
		"another rendering than the rejected one is built": {
			in: Input{
				State: rejecting(returned(), "bad"), Renderable: true, Desired: "good", OwnSpecChanged: true,
				Snapshot: observed(0, map[int64]Generation{0: older()}),
			},
			replicas: 2,
			want: Plan{
				Route: None, Next: State{Phase: v1alpha1.PhaseCreating, Current: 2, Active: 0, Draining: None, Allocated: 2}, Requeue: RequeueNow,
				Reason: "SpecChanged", Message: "Generation 0 differs from the spec.",
			},
		},
		"a rejected rendering is forgotten once the serving generation matches the spec": {
			in: Input{
				State: rejecting(returned(), "bad"), Renderable: true, Desired: "good",
				Snapshot: observed(0, map[int64]Generation{0: full()}),
			},
			replicas: 2,
			want:     Plan{Route: 0, Ensure: inPlace(), Next: returned(), Settled: true, Requeue: RequeueDrift},
		},
		"a lost StatefulSet is recreated despite a rejected rendering": {
			in: Input{State: rejecting(returned(), "bad"), Renderable: true, Desired: "bad", Snapshot: observed(0, nil)}, replicas: 2,
			want: Plan{
				Route: None, Next: State{Phase: v1alpha1.PhaseCreating, Current: 2, Active: 0, Draining: None, Allocated: 2}, Requeue: RequeueNow,
				Reason: "StatefulSetMissing", Message: "The StatefulSet of generation 0 was deleted.",
			},
		},
	})
}

// Deletions and timeouts during a rollout.
func TestDecideInterruptedRollout(t *testing.T) {
	runEdges(t, map[string]edge{
		"a StatefulSet deleted during creation is replaced under the next number": {
			in: Input{State: building(), Renderable: true, Snapshot: observed(0, map[int64]Generation{
				0: older(), 1: with(full(), func(g *Generation) { g.StatefulSet = Terminating }),
			})},
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseCreating, 2, 0, None), Requeue: RequeueNow,
				Reason: "StatefulSetMissing", Message: "The StatefulSet of generation 1 is being deleted.",
			},
		},
		"a generation held only by a foreign finalizer does not block a new one": {
			in: Input{State: at(v1alpha1.PhaseCreating, 2, 1, None), Renderable: true, Snapshot: observed(1, map[int64]Generation{
				0: {StatefulSet: Terminating, Held: true}, 1: older(),
			})},
			want: Plan{
				Route: 1, Next: at(v1alpha1.PhaseCreating, 2, 1, None), Requeue: RequeueWait,
				Ensure: []Ensure{{Generation: 1, Headless: true}, {Generation: 2, Config: true, Headless: true, StatefulSet: true}},
			},
		},
		"draining ends at its timeout": {
			in: Input{
				State: at(v1alpha1.PhaseDraining, 1, 1, 0), Drain: Drain{Expired: true, Every: time.Second},
				Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: unknownMatch()}),
			},
			want: Plan{
				Route: 1, Ensure: []Ensure{{Generation: 1, Headless: true}}, Next: at(v1alpha1.PhaseCleaning, 1, 1, 0), Requeue: RequeueNow,
				Reason: "DrainTimeoutExceeded", Message: "Generation 0 still runs queries, but its drain timeout has expired.",
			},
		},
		"switching returns when the new StatefulSet is deleted after the Service selected it": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 1, 0, None), Snapshot: observed(1, map[int64]Generation{0: older()})},
			want: Plan{
				Route: 0, Ensure: serve(0), Next: building(), Requeue: RequeueNow,
				Reason: "NoLongerReady", Message: "Generation 1 is no longer ready to serve.",
			},
		},
	})
}

// An engine that is stopped and started again serves from the old generation while that still has ready pods.
func TestDecideStartsAgainWhileDraining(t *testing.T) {
	draining, every := at(v1alpha1.PhaseDraining, 1, 1, 0), Drain{Every: 5 * time.Second}
	empty := with(older(), func(g *Generation) { g.Replicas, g.PodsTotal, g.PodsReady = 0, 0, 0 })
	in := func(s State, drain Drain, route int64, old, active Generation) Input {
		return Input{State: s, Drain: drain, Renderable: true, Snapshot: observed(route, map[int64]Generation{0: old, 1: active})}
	}
	back := Plan{
		Route: None, Next: at(v1alpha1.PhaseCreating, 1, 0, None), Requeue: RequeueNow,
		Reason: "StartedAgain", Message: "Replicas are desired again and generation 1 has none; generation 0 serves again.",
	}
	deletes := Plan{Route: 1, Ensure: serve(1), Delete: []int64{0}, Next: at(v1alpha1.PhaseCleaning, 1, 1, 0), Requeue: RequeueWait}
	waits := Plan{Route: 1, Ensure: serve(1), Next: draining, Requeue: every.Every}
	runEdges(t, withReplicas(2, map[string]edge{
		"draining returns to ready pods":                            {in: in(draining, every, 1, older(), empty), want: back},
		"draining returns to some ready pods":                       {in: in(draining, every, 1, with(older(), func(g *Generation) { g.PodsReady = 1 }), empty), want: back},
		"draining returns without the instance":                     {in: Input{State: draining, Drain: every, Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: empty})}, want: back},
		"draining returns before it skips the check":                {in: in(draining, Drain{Skip: true}, 1, older(), empty), want: back},
		"draining returns when no query is left":                    {in: in(draining, Drain{Drained: true}, 1, older(), empty), want: back},
		"cleaning does not return":                                  {in: in(at(v1alpha1.PhaseCleaning, 1, 1, 0), every, 1, older(), empty), want: deletes},
		"draining waits when the old pods are not ready":            {in: in(draining, every, 1, waiting(older()), empty), want: waits},
		"draining waits when the new generation has ready pods":     {in: in(draining, every, 1, older(), with(older(), func(g *Generation) { g.PodsReady = 1 })), want: waits},
		"creating routes traffic back, then returns to a match":     {in: in(building(), Drain{}, 1, full(), empty), want: startedAgain()},
		"creating replaces the empty generation if nothing matches": {in: in(building(), Drain{}, 1, older(), empty), want: startedAnew()},
	}))
	runEdges(t, map[string]edge{"draining waits while the engine is stopped": {in: in(draining, every, 1, older(), empty), want: waits}})
}

func startedAgain() Plan {
	return Plan{
		Route: 0, Ensure: serve(0), Next: returned(), Requeue: RequeueNow, Settled: true,
		Reason: "Reverted", Message: "The spec was reverted to generation 0; generation 1 is abandoned.",
	}
}

func startedAnew() Plan {
	return Plan{
		Route: None, Next: State{Phase: v1alpha1.PhaseCreating, Current: 2, Active: 0, Draining: None, Allocated: 2}, Requeue: RequeueNow,
		Reason: "SpecChanged", Message: "Generation 1 is abandoned: the spec changed.",
	}
}

// Rollouts that the engine's own spec did not request throttle each other.
func TestDecideHolds(t *testing.T) {
	stable := at(v1alpha1.PhaseStable, 1, 1, None)
	next := Plan{
		Route: None, Next: at(v1alpha1.PhaseCreating, 2, 1, None), Requeue: RequeueNow,
		Reason: "SpecChanged", Message: "Generation 1 differs from the spec.",
	}
	externalPlan := next
	externalPlan.External = true
	differs := func(ownSpecChanged, throttled bool) Input {
		return Input{State: stable, Renderable: true, OwnSpecChanged: ownSpecChanged, Throttled: throttled, Snapshot: observed(1, map[int64]Generation{1: older()})}
	}
	cases := map[string]edge{
		"stable only records the next generation when the spec changed": {in: differs(true, false), want: next},
		"a rollout with a spec change does not wait":                    {in: differs(true, true), want: next},
		"a rollout without a spec change is marked as external":         {in: differs(false, false), want: externalPlan},
		"a rollout without a spec change waits, and the old generation keeps serving": {
			in:   differs(false, true),
			want: Plan{Route: 1, Ensure: []Ensure{{Generation: 1, Headless: true}}, Next: stable, Waiting: true, Requeue: RequeueDrift},
		},
		"a missing StatefulSet does not wait": {
			in: Input{State: stable, Renderable: true, Throttled: true, Snapshot: observed(1, nil)},
			want: Plan{
				Route: None, Next: at(v1alpha1.PhaseCreating, 2, 1, None), Requeue: RequeueNow,
				Reason: "StatefulSetMissing", Message: "The StatefulSet of generation 1 was deleted.",
			},
		},
	}
	runEdges(t, withReplicas(2, cases))
}
