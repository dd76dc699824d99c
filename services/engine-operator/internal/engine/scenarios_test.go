package engine

import "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"

// budget limits the number of edits of the desired state, of faults, and of
// interruptions of the children's cache.
type budget struct{ edits, vandals, lags int8 }

// model configures one search.
type model struct {
	name        string
	quick, full budget
	budget
	specs              int8 // number of specs; the last of three requests zero replicas
	class, endpoint    bool // may be edited
	instance           bool // may be lost
	stale              bool // the cache of the engine may be stale, with far by more than one version
	far                bool
	deadline, rollback bool // the progress deadline may pass, and then causes a rollback
	bad                int8 // the spec whose pods never become ready; 0 for none
	holds              bool // others may hold all slots
	skip, expires      bool // no drain check; the drain timeout may end
	stuck              bool // a query never ends
	endless            bool // a query never ends, and there is no drain timeout
	some               bool // some of a generation's pods may be ready
	labels             bool // StatefulSets may lose their labels
	restarts           bool // the operator may lose its memory
	squats             bool // a user may take a name
	finalizers         bool // StatefulSets may get a foreign finalizer, forever
	forgets            bool // the status may be lost
	serving            bool // starts with a generation that serves
	anywhere           bool // starts with every possible record, also invalid ones
	limit              int  // more states are an error of the model
}

func (m *model) start() []world {
	eng := object{st: recordOf(StateOf(v1alpha1.FireboltEngineStatus{})), up: true, asked: true}
	w := world{kids: children{route: int8(None)}, budget: m.budget}
	if m.serving {
		eng.st, eng.asked = record{phase: stable, draining: int8(None)}, false
		w.kids.route = 0
		w.kids.cells[0] = cell{sts: int8(Present), hl: true, cm: true, ready: true, made: eng.wants(), conf: eng.wants()}
	}
	w.eng, w.old = eng, eng
	if m.anywhere {
		return anywhere(w)
	}
	return []world{w}
}

// anywhere lists inconsistent records and objects.
func anywhere(w world) (out []world) {
	none := int8(None)
	for phase := stable; int(phase) < len(phases); phase++ {
		for _, current := range []int8{0, 1, 2} {
			for _, active := range []int8{none, 0, 1} {
				for _, draining := range []int8{none, 0, 1} {
					for kids := range 12 {
						n := w
						n.eng.st = record{phase: phase, current: current, active: active, draining: draining, allocated: 2}
						n.kids.route = int8(kids%3) - 1
						for i := range 2 {
							if kids/3>>i&1 == 1 {
								n.kids.cells[i] = cell{sts: int8(Present), hl: true, made: []rendering{w.eng.wants(), byHand}[i], ready: i == 0}
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
	list := []model{
		{
			name: "first-rollout", quick: budget{1, 0, 1}, full: budget{2, 1, 1},
			specs: 3, stale: true, instance: true,
		},
		{
			name: "edits", quick: budget{2, 0, 0}, full: budget{endless, 1, 0},
			specs: 3, stale: true, far: true, deadline: true, rollback: true, expires: true, serving: true,
		},
		{
			name: "disturbances", quick: budget{1, 2, 0}, full: budget{endless, 2, 0},
			specs: 3, expires: true, serving: true,
		},
		{
			name: "class-and-instance", quick: budget{2, 0, 0}, full: budget{3, 1, 0},
			specs: 2, class: true, endpoint: true, instance: true, holds: true, stale: true, serving: true,
		},
		{
			name: "rollback", quick: budget{1, 1, 0}, full: budget{endless, 1, 0},
			specs: 3, deadline: true, rollback: true, stale: true, serving: true,
		},
		{
			name: "hopeless-pods", quick: budget{2, 0, 0}, full: budget{endless, 0, 0},
			specs: 3, class: true, bad: 1, deadline: true, rollback: true, holds: true, stale: true, serving: true,
		},
		{
			name: "old-children", quick: budget{1, 1, 1}, full: budget{3, 1, 1},
			specs: 2, stale: true, serving: true,
		},
		{
			name: "recreate", quick: budget{1, 1, 0}, full: budget{endless, 1, 0},
			specs: 3, skip: true, stale: true, far: true, serving: true,
		},
		{
			name: "stuck-query", quick: budget{1, 1, 0}, full: budget{2, 1, 0},
			specs: 3, expires: true, stuck: true, serving: true,
		},
		{
			name: "finalizers", quick: budget{1, 2, 0}, full: budget{2, 3, 0},
			specs: 2, finalizers: true, serving: true,
		},
		{
			name: "lost-status", quick: budget{1, 2, 0}, full: budget{4, 2, 0},
			specs: 2, forgets: true, stale: true, far: true, serving: true,
		},
		{
			name: "lost-serving", quick: budget{1, 2, 0}, full: budget{2, 2, 0},
			specs: 3, endless: true, some: true, restarts: true, instance: true, serving: true,
		},
		{
			name: "lost-serving-hopeless", quick: budget{1, 2, 0}, full: budget{2, 2, 0},
			specs: 2, bad: 1, some: true, deadline: true, rollback: true, instance: true, serving: true,
		},
		{
			name: "lost-labels", quick: budget{1, 2, 0}, full: budget{2, 3, 0},
			specs: 2, labels: true, finalizers: true, serving: true,
		},
		{
			name: "taken-names", quick: budget{1, 2, 0}, full: budget{2, 3, 0},
			specs: 2, squats: true, stale: true, serving: true,
		},
		{
			name: "any-record", quick: budget{}, full: budget{1, 0, 0}, specs: 2, anywhere: true,
		},
	}
	for i := range list {
		m := &list[i]
		m.budget, m.limit = m.quick, 1_000_000
		if full {
			m.budget, m.limit = m.full, 1_500_000
		}
	}
	return list
}
