package engine

import (
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func deleted(g Generation) Generation { return Generation{Match: g.Match} }

func restorable(g Generation) Generation { return Generation{Match: g.Match, Restorable: true} }

func terminating(g Generation) Generation { g.StatefulSet = Terminating; return g }

// The StatefulSet that serves is deleted while the old generation is drained or removed.
func TestDecideLostServingWhileDraining(t *testing.T) {
	draining, every := at(v1alpha1.PhaseDraining, 1, 1, 0), Drain{Every: 5 * time.Second}
	back := Plan{
		Route: None, Next: at(v1alpha1.PhaseCreating, 1, 0, None), Requeue: RequeueNow,
		Reason: "StatefulSetMissing", Message: "The StatefulSet of generation 1 was deleted; generation 0 serves again.",
	}
	runEdges(t, map[string]edge{
		"draining gives traffic back to what was to go": {
			in:   Input{State: draining, Drain: every, Renderable: true, Snapshot: observed(1, map[int64]Generation{0: older()})},
			want: back,
		},
		"draining does so also without the instance, and while the deletion takes time": {
			in:   Input{State: draining, Drain: every, Snapshot: observed(1, map[int64]Generation{0: unknownMatch(), 1: terminating(unknownMatch())})},
			want: back,
		},
		"cleaning gives traffic back before it deletes": {
			in:   Input{State: at(v1alpha1.PhaseCleaning, 1, 1, 0), Renderable: true, Snapshot: observed(1, map[int64]Generation{0: older()})},
			want: back,
		},
		"cleaning rebuilds what serves at its number when the old generation is going": {
			in: Input{State: at(v1alpha1.PhaseCleaning, 1, 1, 0), Renderable: true, Snapshot: observed(1, map[int64]Generation{0: terminating(older())})},
			want: Plan{
				Route: 1, Next: at(v1alpha1.PhaseCleaning, 1, 1, 0), Requeue: RequeueWait, Delete: []int64{0},
				Ensure: []Ensure{{Generation: 1, Headless: true, Config: true, StatefulSet: true}},
			},
		},
	})
}

// All pods of the generation that serves fail while the old one, which is drained or removed, still has ready pods.
func TestDecideFailedServingWhileDraining(t *testing.T) {
	draining, cleaning := at(v1alpha1.PhaseDraining, 1, 1, 0), at(v1alpha1.PhaseCleaning, 1, 1, 0)
	in := func(s State, drain Drain, old, active Generation) Input {
		drain.Every = RequeueWait
		return Input{State: s, Drain: drain, Renderable: true, Snapshot: observed(1, map[int64]Generation{0: old, 1: active})}
	}
	partlyReady := func(g Generation) Generation { g.PodsReady = 1; return g }
	back := Plan{
		Route: None, Next: at(v1alpha1.PhaseCreating, 1, 0, None), Requeue: RequeueNow,
		Reason: "PodsFailed", Message: "Generation 1 has no ready pods; generation 0 serves again.",
	}
	config := []Ensure{{Generation: 1, Headless: true, Config: true}}
	waits := Plan{Route: 1, Ensure: config, Next: draining, Requeue: RequeueWait}
	deletes := Plan{Route: 1, Ensure: config, Delete: []int64{0}, Next: cleaning, Requeue: RequeueWait}
	runEdges(t, withReplicas(2, map[string]edge{
		"draining returns to ready pods":                {in: in(draining, Drain{}, older(), waiting(full())), want: back},
		"draining returns when no query is left":        {in: in(draining, Drain{Drained: true}, partlyReady(older()), waiting(full())), want: back},
		"draining returns at its timeout":               {in: in(draining, Drain{Expired: true}, older(), waiting(full())), want: back},
		"draining waits for queries if some pods serve": {in: in(draining, Drain{}, older(), partlyReady(full())), want: waits},
		"draining waits if no pods are ready":           {in: in(draining, Drain{}, waiting(older()), waiting(full())), want: waits},
		"cleaning returns before it deletes":            {in: in(cleaning, Drain{}, older(), waiting(full())), want: back},
		"cleaning deletes if some pods serve":           {in: in(cleaning, Drain{}, older(), partlyReady(full())), want: deletes},
		"cleaning deletes if no pods are ready":         {in: in(cleaning, Drain{}, waiting(older()), waiting(full())), want: deletes},
		"creating keeps both, and routes to ready pods": {in: in(building(), Drain{}, older(), waiting(full())), want: buildPlan()},
	}))
}

// The StatefulSet that serves is deleted while the new generation is created.
func TestDecideLostServingWhileCreating(t *testing.T) {
	creating := at(v1alpha1.PhaseCreating, 1, 0, None)
	notReady := with(full(), func(g *Generation) { g.PodsReady = 0 })
	partlyReady := with(full(), func(g *Generation) { g.PodsReady = 1 })
	runEdges(t, map[string]edge{
		"creating restores what served as it was": {
			in: Input{State: creating, Renderable: true, Snapshot: observed(0, map[int64]Generation{0: restorable(older()), 1: notReady})},
			want: Plan{
				Route: 0, Next: creating, Requeue: RequeueWait,
				Ensure: []Ensure{{Generation: 0, Headless: true, Restore: true}, {Generation: 1, Config: true, Headless: true}},
			},
		},
		"creating restores nothing that is being built already": {
			in: Input{State: creating, Renderable: true, Snapshot: observed(0, map[int64]Generation{0: restorable(full()), 1: notReady})},
			want: Plan{
				Route: 0, Next: creating, Requeue: RequeueWait,
				Ensure: []Ensure{{Generation: 0, Headless: true}, {Generation: 1, Config: true, Headless: true}},
			},
		},
		"creating routes to the pods that are ready": {
			in: Input{State: creating, Renderable: true, Snapshot: observed(0, map[int64]Generation{0: restorable(older()), 1: partlyReady})},
			want: Plan{
				Route: 0, Next: at(v1alpha1.PhaseSwitching, 1, 0, None), Requeue: RequeueNow, Ensure: []Ensure{{Generation: 0, Headless: true}},
				Reason: "ActiveMissing", Message: "The StatefulSet of generation 0 was deleted; generation 1 has ready pods.",
			},
		},
		"creating waits for all pods while the old generation stands": {
			in: Input{State: creating, Renderable: true, Snapshot: observed(0, map[int64]Generation{0: older(), 1: partlyReady})},
			want: Plan{
				Route: 0, Next: creating, Requeue: RequeueWait,
				Ensure: []Ensure{{Generation: 0, Headless: true}, {Generation: 1, Config: true, Headless: true}},
			},
		},
		"switching moves the Service to the pods that are ready": {
			in: Input{State: at(v1alpha1.PhaseSwitching, 1, 0, None), Snapshot: observed(0, map[int64]Generation{0: deleted(older()), 1: partlyReady})},
			want: Plan{
				Route: 1, Next: at(v1alpha1.PhaseSwitching, 1, 0, None), Requeue: RequeueNow, Ensure: []Ensure{{Generation: 1, Headless: true, Config: true}},
			},
		},
	})
}

// The StatefulSet that serves is deleted without a rollout.
func TestDecideLostServingWhileStable(t *testing.T) {
	runEdges(t, map[string]edge{
		"stable without its instance restores what served": {
			in: Input{State: at(v1alpha1.PhaseStable, 1, 1, None), Snapshot: observed(1, map[int64]Generation{1: restorable(unknownMatch())})},
			want: Plan{
				Route: 1, Next: at(v1alpha1.PhaseStable, 1, 1, None), Requeue: RequeueDependency,
				Ensure: []Ensure{{Generation: 1, Headless: true, Restore: true}},
			},
			replicas: 2,
		},
		"stable after a rollback restores what served, not what failed": {
			in: Input{
				State: rejecting(at(v1alpha1.PhaseStable, 1, 1, None), "bad"), Renderable: true, Desired: "bad",
				Snapshot: observed(1, map[int64]Generation{1: restorable(older())}),
			},
			want: Plan{
				Route: 1, Next: rejecting(at(v1alpha1.PhaseStable, 1, 1, None), "bad"), Requeue: RequeueWait,
				Ensure: []Ensure{{Generation: 1, Headless: true, Restore: true, Config: true}},
			},
			replicas: 2,
		},
	})
}

// Names, labels and selectors that other clients changed.
func TestDecideForeignNamesAndLabels(t *testing.T) {
	runEdges(t, map[string]edge{
		"creating takes the next number when a name is taken": {
			in: Input{State: at(v1alpha1.PhaseCreating, 1, 0, None), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: older(), 1: {Taken: true}})},
			want: Plan{
				Route: None, Next: State{Phase: v1alpha1.PhaseCreating, Current: 2, Active: 0, Draining: None, Allocated: 2}, Requeue: RequeueNow,
				SameRollout: true, Reason: "NameTaken", Message: "A name of generation 1 belongs to an object of another owner.",
			},
		},
		"lost labels come back": {
			in: Input{State: at(v1alpha1.PhaseStable, 1, 1, None), Snapshot: observed(1, map[int64]Generation{
				1: with(unknownMatch(), func(g *Generation) { g.Unlabeled = true }),
			})},
			want: Plan{
				Route: 1, Next: at(v1alpha1.PhaseStable, 1, 1, None), Requeue: RequeueDependency,
				Ensure: []Ensure{{Generation: 1, Headless: true}}, Relabel: []int64{1},
			},
			replicas: 2,
		},
		"a number in the selector is not in use": {
			in: Input{State: at(v1alpha1.PhaseStable, 1, 1, None), Renderable: true, Snapshot: observed(99, map[int64]Generation{1: older()})},
			want: Plan{
				Route: None, Next: State{Phase: v1alpha1.PhaseCreating, Current: 2, Active: 1, Draining: None, Allocated: 2}, Requeue: RequeueNow,
				Reason: "SpecChanged", Message: "Generation 1 differs from the spec.", External: true,
			},
			replicas: 2,
		},
	})
}

// Numbers that no operator allocates are treated as lost, and never overflow.
func TestStateOfBoundsNumbers(t *testing.T) {
	const maxAllocated = 1<<63 - 1
	status := func(current, active int64, allocated *int64) v1alpha1.FireboltEngineStatus {
		return v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable, CurrentGeneration: current, ActiveGeneration: active, LastAllocatedGeneration: allocated}
	}
	if got := StateOf(status(3, 3, new(int64(maxAllocated)))); got.Allocated != 3 || got.Current != 3 {
		t.Errorf("StateOf with an absurd last number = %+v", got)
	}
	for _, s := range []v1alpha1.FireboltEngineStatus{status(maxAllocated, 3, nil), status(3, maxAllocated, nil), status(-7, 3, nil)} {
		p := Decide(Input{State: StateOf(s), Snapshot: observed(3, map[int64]Generation{3: full()}), Confirmed: true})
		if p.Next.Active != 3 || p.Next.Current != 4 || p.Next.Allocated != 4 {
			t.Errorf("from %+v the decision is %+v", s, p.Next)
		}
	}
}
