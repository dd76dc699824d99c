package engine

import (
	"slices"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// budget limits the number of edits of the desired state, of faults, and of
// interruptions of the children's cache.
type budget struct{ edits, faults, cacheStops int8 }

// model configures one search.
type model struct {
	name        string
	quick, full budget
	budget
	specs              int8 // number of specs; the last of three requests zero replicas
	class, endpoint    bool // may be edited
	instance           bool // may be lost
	stale              bool // the cache of the engine may be stale, with veryStale by more than one version
	veryStale          bool
	deadline, rollback bool // the progress deadline may pass, and then causes a rollback
	failingSpec        int8 // the spec whose pods never become ready; 0 for none
	throttles          bool // others may hold all slots
	skip, expires      bool // no drain check; the drain timeout may end
	stuckQuery         bool // a query never ends
	noDrainTimeout     bool // a query never ends, and there is no drain timeout
	partlyReady        bool // some of a generation's pods may be ready
	labels             bool // StatefulSets may lose their labels
	credentials        bool // the credentials of the instance may be deleted
	keepsServing       bool // the StatefulSet that serves is not deleted while another generation is created or drained
	restarts           bool // the operator may lose its memory
	nameConflicts      bool // a user may take a name
	finalizers         bool // StatefulSets may get a foreign finalizer, forever
	losesStatus        bool // the status may be lost
	foreignStatus      bool // another client may write any status
	serving            bool // starts with a generation that serves
	arbitraryStart     bool // starts with every possible record, also invalid ones
	limit              int  // more states are an error of the model
}

func (m *model) start() []modelState {
	eng := object{st: newRecord(StateOf(v1alpha1.FireboltEngineStatus{})), instanceExists: true, specChanged: true}
	w := modelState{children: children{route: int8(None)}, budget: m.budget}
	if m.serving {
		eng.st, eng.specChanged = record{phase: stable, draining: int8(None)}, false
		w.children.route = 0
		w.children.gens[0] = genState{sts: int8(Present), hl: true, cm: true, ready: true, stsRendering: eng.desired(), cmRendering: eng.desired()}
	}
	w.eng, w.old = eng, eng
	if m.arbitraryStart {
		return arbitraryStates(w)
	}
	return []modelState{w}
}

// arbitraryStates lists inconsistent records and objects.
func arbitraryStates(w modelState) (out []modelState) {
	none := int8(None)
	for phase := stable; int(phase) < len(phases); phase++ {
		for _, current := range []int8{0, 1, 2} {
			for _, active := range []int8{none, 0, 1} {
				for _, draining := range []int8{none, 0, 1} {
					for combination := range 12 {
						n := w
						n.eng.st = record{phase: phase, current: current, active: active, draining: draining, allocated: 2}
						n.children.route = int8(combination%3) - 1
						for i := range 2 {
							if combination/3>>i&1 == 1 {
								n.children.gens[i] = genState{sts: int8(Present), hl: true, stsRendering: []rendering{w.eng.desired(), editedRendering}[i], ready: i == 0}
							}
						}
						n.old = n.eng
						out = append(out, n.renumbered())
					}
				}
			}
		}
	}
	return out
}

// scenarios lists the searches. Each covers a subset of the possible events, since their
// combination has too many states.
func scenarios(full bool) []model {
	list := slices.Concat(rolloutScenarios(), faultScenarios())
	for i := range list {
		m := &list[i]
		m.budget, m.limit = m.quick, 1_000_000
		if full {
			m.budget, m.limit = m.full, 1_500_000
		}
	}
	return list
}

func rolloutScenarios() []model {
	return []model{
		{
			name: "first-rollout", quick: budget{1, 0, 1}, full: budget{1, 1, 1},
			specs: 3, stale: true, instance: true,
		},
		{
			name: "edits", quick: budget{2, 0, 0}, full: budget{4, 1, 0},
			specs: 3, stale: true, veryStale: true, deadline: true, rollback: true, expires: true, serving: true,
		},
		{
			name: "disturbances", quick: budget{1, 2, 0}, full: budget{3, 2, 0},
			specs: 3, expires: true, serving: true,
		},
		{
			name: "class-and-instance", quick: budget{2, 0, 0}, full: budget{3, 1, 0},
			specs: 2, class: true, endpoint: true, instance: true, throttles: true, stale: true, serving: true,
		},
		{
			name: "rollback", quick: budget{1, 1, 0}, full: budget{4, 1, 0},
			specs: 3, deadline: true, rollback: true, stale: true, serving: true,
		},
		{
			name: "hopeless-pods", quick: budget{2, 0, 0}, full: budget{4, 0, 0},
			specs: 3, class: true, failingSpec: 1, deadline: true, rollback: true, throttles: true, stale: true, serving: true,
		},
		{
			name: "old-children", quick: budget{1, 1, 1}, full: budget{3, 1, 1},
			specs: 2, stale: true, serving: true,
		},
		{
			name: "old-children-stopped", quick: budget{2, 1, 1}, full: budget{3, 1, 1},
			specs: 3, serving: true,
		},
		{
			name: "recreate", quick: budget{1, 1, 0}, full: budget{4, 1, 0},
			specs: 3, skip: true, stale: true, veryStale: true, serving: true,
		},
		{
			name: "stuck-query", quick: budget{1, 1, 0}, full: budget{2, 1, 0},
			specs: 3, expires: true, stuckQuery: true, serving: true,
		},
	}
}

// faultScenarios returns scenarios with rare faults: finalizers, and lost or foreign statuses, labels, credentials and names.
func faultScenarios() []model {
	return []model{
		{
			name: "finalizers", quick: budget{1, 2, 0}, full: budget{2, 3, 0},
			specs: 2, finalizers: true, serving: true,
		},
		{
			name: "lost-status", quick: budget{1, 2, 0}, full: budget{3, 2, 0},
			specs: 2, losesStatus: true, stale: true, veryStale: true, serving: true,
		},
		{
			name: "foreign-status", quick: budget{1, 1, 0}, full: budget{2, 1, 0},
			specs: 3, foreignStatus: true, stale: true, serving: true,
		},
		{
			name: "lost-serving", quick: budget{1, 2, 0}, full: budget{2, 2, 0},
			specs: 3, noDrainTimeout: true, partlyReady: true, restarts: true, instance: true, serving: true,
		},
		{
			name: "lost-serving-hopeless", quick: budget{1, 2, 0}, full: budget{2, 2, 0},
			specs: 2, failingSpec: 1, partlyReady: true, deadline: true, rollback: true, instance: true, serving: true,
		},
		{
			name: "lost-labels", quick: budget{1, 2, 0}, full: budget{2, 3, 0},
			specs: 2, labels: true, finalizers: true, serving: true,
		},
		{
			name: "lost-credentials", quick: budget{1, 2, 0}, full: budget{2, 2, 0},
			specs: 2, credentials: true, partlyReady: true, stale: true, serving: true,
		},
		{
			name: "throttled", quick: budget{1, 1, 0}, full: budget{2, 2, 0},
			specs: 2, class: true, throttles: true, serving: true,
		},
		{
			name: "taken-names", quick: budget{1, 2, 0}, full: budget{2, 3, 0},
			specs: 2, nameConflicts: true, stale: true, serving: true,
		},
		{
			name: "any-record", quick: budget{}, full: budget{1, 0, 0}, specs: 2, arbitraryStart: true,
		},
	}
}
