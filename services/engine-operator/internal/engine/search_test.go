package engine

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// The exhaustive search drives the real Decide through every reachable state of a small
// cluster: spec changes, pods that come and go, objects that somebody deletes, an operator
// that crashes between any two writes or decides from an outdated status. In each state the
// invariants hold, and from each state an undisturbed operator reaches a terminal phase.

const numbers = 6 // generations 0 to 5 can exist

// cell is one generation in the model.
type cell struct {
	sts     Existence
	hl, cm  bool
	spec    int8 // the version of the spec that the StatefulSet was made from
	reps    int8
	ready   bool // all pods are ready
	retired bool // the operator deleted it
}

// object is the engine's own object: what is wanted and what is recorded. Both change
// only together with the resource version.
type object struct {
	st   State
	spec int8
	reps int8
	rv   int16
}

// world is one state of the model. It is comparable, so visited states are a map.
type world struct {
	eng     object
	old     object // an earlier version, which a lagging cache may still hold
	cells   [numbers]cell
	route   int64
	drained bool
	edits   int8 // how many more times the spec may change
	vandals int8 // how many more objects somebody may delete or pods may fail
	broken  string
}

func (w world) snapshot(spec int8) Snapshot {
	s := Snapshot{Route: w.route, Generations: map[int64]Generation{}}
	for n, c := range w.cells {
		if c.sts == Absent && !c.hl && !c.cm {
			continue
		}
		g := Generation{StatefulSet: c.sts, Match: Differs, Replicas: int32(c.reps)}
		if c.sts != Absent && c.spec == spec {
			g.Match = Same
		}
		if c.ready || c.reps == 0 {
			g.PodsTotal, g.PodsReady = g.Replicas, g.Replicas
		}
		if c.hl {
			g.Headless = Present
		}
		if c.cm {
			g.Config = Present
		}
		s.Generations[int64(n)] = g
	}
	return s
}

// pass runs one reconcile from the given view of the engine, crashing after `writes`.
func (w world) pass(view object, writes int) (world, Plan) {
	in := Input{
		State: view.st, Snapshot: w.snapshot(view.spec), Replicas: int32(view.reps),
		Renderable: true, Drain: Drain{Drained: w.drained, Every: RequeueWait},
	}
	p := Decide(in)
	if p.Confirm {
		if view.rv != w.eng.rv {
			return w, p // the cache has to catch up
		}
		in.Confirmed = true
		p = Decide(in)
	}
	for _, wr := range p.Writes() {
		if writes--; writes < 0 {
			return w, p
		}
		w = w.write(wr)
	}
	if writes--; writes < 0 || view.rv != w.eng.rv || p.Next == w.eng.st {
		return w, p
	}
	w.check(p)
	w.old = w.eng
	w.eng.st = p.Next
	w.eng.rv++
	if p.Next.Phase == v1.PhaseDraining {
		w.drained = false
	}
	return w, p
}

func (w world) write(wr Write) world {
	c := &w.cells[wr.Generation]
	switch wr.Op {
	case EnsureConfig:
		c.cm = true
	case EnsureHeadless:
		c.hl = true
	case CreateStatefulSet:
		if c.sts == Absent {
			if c.retired {
				w.broken = "NumberUsedTwice"
			}
			*c = cell{sts: Present, hl: c.hl, cm: c.cm, spec: w.eng.spec, reps: w.eng.reps}
		}
		if wr.Generation > w.eng.st.Allocated {
			w.broken = "ExistsBeforeAllocated"
		}
	case RouteService:
		if w.route != wr.Generation && !c.ready && c.reps > 0 && wr.Generation != w.eng.st.Active {
			w.broken = "RoutedToUnready"
		}
		w.route = wr.Generation
	case DeleteStatefulSet, DeleteHeadless, DeleteConfig:
		if wr.Generation == w.route || wr.Generation == w.eng.st.Active {
			w.broken = "ServingDeleted"
		}
		c.retired = true
		switch {
		case wr.Op == DeleteHeadless:
			c.hl = false
		case wr.Op == DeleteConfig:
			c.cm = false
		case c.sts == Present:
			c.sts = Leaving
		}
	}
	if w.broken == "" && w.standing() > 2 {
		w.broken = "MoreThanTwoGenerations"
	}
	return w
}

func (w world) standing() int {
	n := 0
	for _, c := range w.cells {
		if c.sts != Absent {
			n++
		}
	}
	return n
}

// check compares the recorded state before and after a status write.
func (w *world) check(p Plan) {
	before, after := w.eng.st, p.Next
	switch {
	case after.Allocated < before.Allocated:
		w.broken = "AllocatedWentBack"
	case after.Current > before.Allocated && (before.Phase == v1.PhaseDraining || before.Phase == v1.PhaseCleaning || before.Phase == v1.PhaseSwitching):
		w.broken = "NewGenerationDuringTransition"
	case after.Current > before.Allocated && len(p.Writes()) > 0:
		w.broken = "WroteBeforeIntent"
	case (after.Phase == v1.PhaseStable || after.Phase == v1.PhaseStopped) && after.Current != after.Active:
		w.broken = "TerminalWithTwoGenerations"
	case before.Phase == v1.PhaseCleaning && after.Phase != v1.PhaseCleaning && w.cells[before.Draining].sts == Present:
		w.broken = "OldGenerationLeft"
	case (after.Phase == v1.PhaseStable || after.Phase == v1.PhaseStopped) && after.Draining != None:
		w.broken = "TerminalStillDraining"
	}
}

// next lists every state that can follow.
func (w world) next() []world {
	var out []world
	for _, view := range []object{w.eng, w.old} {
		for writes := range 9 {
			n, p := w.pass(view, writes)
			out = append(out, n)
			if writes > len(p.Writes()) {
				break
			}
		}
	}
	return append(out, w.environment()...)
}

func (w world) environment() []world {
	var out []world
	add := func(change func(*world)) {
		n := w
		change(&n)
		out = append(out, n)
	}
	if w.eng.st.Phase == v1.PhaseDraining && !w.drained {
		add(func(n *world) { n.drained = true })
	}
	if w.edits > 0 && int(w.eng.st.Allocated) < numbers-2 {
		for _, reps := range []int8{0, 1} {
			add(func(n *world) { n.edits--; n.old = n.eng; n.eng.spec++; n.eng.reps = reps; n.eng.rv++ })
		}
	}
	for i, c := range w.cells {
		if c.sts == Present && !c.ready && c.reps > 0 {
			add(func(n *world) { n.cells[i].ready = true })
		}
		if c.sts == Leaving {
			add(func(n *world) { n.cells[i].sts, n.cells[i].ready = Absent, false })
		}
		if w.vandals == 0 {
			continue
		}
		if c.ready {
			add(func(n *world) { n.vandals--; n.cells[i].ready = false })
		}
		if c.sts == Present && int(w.eng.st.Allocated) < numbers-2 {
			add(func(n *world) { n.vandals--; n.cells[i].sts, n.cells[i].ready = Absent, false })
		}
		if c.hl {
			add(func(n *world) { n.vandals--; n.cells[i].hl = false })
		}
		if c.cm {
			add(func(n *world) { n.vandals--; n.cells[i].cm = false })
		}
	}
	if w.vandals > 0 && w.route != None {
		add(func(n *world) { n.vandals--; n.route = None })
		for i, c := range w.cells {
			if c.sts == Present && int64(i) != w.route {
				add(func(n *world) { n.vandals--; n.route = int64(i) })
			}
		}
	}
	return out
}

// converges lets an undisturbed operator and a kind cluster run.
func (w world) converges() bool {
	for range 60 {
		n, p := w.pass(w.eng, 99)
		if p.Settled && n == w && n.route == n.eng.st.Active {
			return true
		}
		for i := range n.cells {
			c := &n.cells[i]
			if c.sts == Leaving {
				c.sts, c.ready = Absent, false
			}
			c.ready = c.sts == Present
		}
		n.drained = true
		w = n
	}
	return false
}

func (w world) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v (before %+v) route=%d drained=%t", w.eng, w.old, w.route, w.drained)
	for n, c := range w.cells {
		if c != (cell{}) {
			fmt.Fprintf(&b, "\n    g%d %+v", n, c)
		}
	}
	return b.String()
}

func start(edits, vandals int8) world {
	eng := object{st: StateOf(v1.FireboltEngineStatus{}), reps: 1}
	return world{eng: eng, old: eng, route: None, edits: edits, vandals: vandals}
}

// search visits every reachable state, and returns how many there are and the shortest
// way to a broken one.
func search(from world, limit int) (visited int, trace []world) {
	parent := map[world]world{from: from}
	for queue := []world{from}; len(queue) > 0; queue = queue[1:] {
		w := queue[0]
		if w.broken == "" && !w.converges() {
			bad := w
			bad.broken = "DoesNotConverge"
			parent[bad], w = w, bad
		}
		if w.broken != "" {
			for {
				trace = append([]world{w}, trace...)
				if parent[w] == w {
					return len(parent), trace
				}
				w = parent[w]
			}
		}
		for _, n := range w.next() {
			n.eng.rv, n.old.rv = relative(n)
			if _, ok := parent[n]; !ok {
				parent[n] = w
				queue = append(queue, n)
			}
		}
		if len(parent) > limit {
			return len(parent), nil
		}
	}
	return len(parent), nil
}

// relative keeps resource versions comparable and the number of states finite.
func relative(w world) (eng, old int16) {
	if w.eng.rv == w.old.rv {
		return 0, 0
	}
	return 1, 0
}

func TestEveryReachableStateIsSafeAndConverges(t *testing.T) {
	const limit = 3_000_000
	for name, from := range map[string]world{
		"one change of the spec, two disturbances": start(1, 2),
		"three changes of the spec":                start(3, 0),
		"two changes, one disturbance":             start(2, 1),
	} {
		t.Run(name, func(t *testing.T) {
			visited, trace := search(from, limit)
			if visited > limit {
				t.Fatalf("more than %d states: the model is not finite any more", limit)
			}
			for i, w := range trace {
				t.Logf("%2d  %s %s", i, w.broken, w)
			}
			if len(trace) > 0 {
				t.Fatalf("invariant %s is broken after %d steps", trace[len(trace)-1].broken, len(trace)-1)
			}
			t.Logf("%d states", visited)
		})
	}
}
