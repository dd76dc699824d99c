package engine

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// The search visits every reachable state of the model, breadth first, so that
// the path to a violated invariant is a shortest one. `go test` runs it with small budgets of
// edits and faults, `make verify-engine` with the full ones (docs/state-machine.md).

// search is one run.
type search struct {
	*model
	ids       map[modelState]int32
	states    []modelState
	from      []arrival
	edges     int
	converged map[modelState]bool // states from which steps without faults reach a fixed point
}

// arrival records how a state was first reached.
type arrival struct {
	parent int32
	step   string
}

// run returns the name of the first invariant that breaks, and the state and step that broke it.
func (s *search) run() (violated, desc string, at int32) {
	s.ids, s.converged = map[modelState]int32{}, map[modelState]bool{}
	for _, w := range s.start() {
		s.visit(w, int32(len(s.states)), "")
	}
	for at = 0; int(at) < len(s.states); at++ {
		w := s.states[at]
		if violated, desc = s.converges(w); violated != "" {
			return violated, desc, at
		}
		add := func(step string, n modelState) {
			n = n.renumbered()
			if n == w {
				return
			}
			s.edges++
			s.visit(n, at, step)
		}
		if violated, desc = s.operator(w, add); violated != "" {
			return violated, desc, at
		}
		s.environment(w, add)
		if len(s.states) > s.limit {
			return "NumbersFitTheModel", "too many states", at
		}
	}
	return "", "", 0
}

func (s *search) visit(w modelState, parent int32, desc string) {
	if _, ok := s.ids[w]; ok {
		return
	}
	s.ids[w] = int32(len(s.states))
	s.states = append(s.states, w)
	s.from = append(s.from, arrival{parent, desc})
}

// operator runs every reconcile: from the fresh or the cached engine, throttled or not, with a crash before each of its
// writes, and with each of its writes refused.
func (s *search) operator(w modelState, add func(string, modelState)) (violated, desc string) {
	for _, v := range s.views(w) {
		d := s.decide(&w, v)
		run := func(refused, crash int) bool {
			o := s.execute(w, d, refused, crash)
			if violated = o.violated; violated != "" {
				desc = fmt.Sprintf("reconcile (cached=%t raced=%t held=%t refused=%d) %+v", v.cached, v.raced, v.throttled, refused, o.plan)
				return false
			}
			add(name(v, refused), o.state)
			return true
		}
		for crash := range len(d.writes) + 2 {
			if !run(accepted, crash) {
				return violated, desc
			}
		}
		for refused := range d.writes {
			if !run(refused, len(d.writes)) || !run(refused, len(d.writes)+1) { // the status write is refused too, or not
				return violated, desc
			}
		}
	}
	return "", ""
}

// name returns a constant for a reconcile: formatting would cost more than the reconcile.
func name(v view, refused int) string {
	switch {
	case refused != accepted:
		return "a reconcile with a refused write"
	case v.raced:
		return "a reconcile, the spec is edited meanwhile"
	case v.cached:
		return "a reconcile from a stale engine"
	case v.throttled:
		return "a throttled reconcile"
	}
	return "a reconcile"
}

func (s *search) views(w modelState) []view {
	out := []view{{object: w.eng}}
	if s.throttles && w.eng.st.terminal() {
		out = append(out, view{object: w.eng, throttled: true})
	}
	if w.old != w.eng || w.newer {
		out = append(out, view{object: w.old, cached: true})
		if w.edited && w.old.st == w.eng.st {
			out = append(out, view{object: w.old, cached: true, raced: true})
		}
	}
	return out
}

// stepWithoutFaults runs one complete reconcile and the reaction of the cluster.
func (s *search) stepWithoutFaults(w modelState) (outcome, modelState) {
	d := s.decide(&w, view{object: w.eng})
	o := s.execute(w, d, accepted, len(d.writes)+1)
	n := o.state
	for i := range n.children.gens {
		c := &n.children.gens[i]
		if c.sts == int8(Terminating) && !c.foreignFinalizer {
			c.sts = int8(Absent)
		}
		c.ready = c.sts == int8(Present) && !s.neverReady(*c)
		c.partlyReady = c.partlyReady && c.sts == int8(Present) && !c.ready
	}
	return o, s.withoutFaults(n)
}

// withoutFaults resets all pending faults of a state.
func (s *search) withoutFaults(w modelState) modelState {
	w.budget = budget{}
	w.eng.instanceExists, w.noCredentials = true, false
	w.old, w.newer, w.edited = w.eng, false, false
	w.staleChildren, w.childrenStale = children{}, false
	w.drained, w.expired = !s.stuckQuery && !s.noDrainTimeout, s.stuckQuery
	w.overdue = s.failingSpec > 0 && w.eng.st.phase == creating
	return w.renumbered()
}

// converges checks that steps without faults reach a fixed point. It caches results, so each such state
// is checked once in a search.
func (s *search) converges(w modelState) (violated, desc string) {
	if w = s.withoutFaults(w); s.converged[w] {
		return "", ""
	}
	visited := map[modelState]bool{}
	for !s.converged[w] {
		if visited[w] {
			return "EveryFairPathEndsTerminal", "steps without faults run in a circle through " + w.String()
		}
		visited[w] = true
		o, n := s.stepWithoutFaults(w)
		if o.violated != "" {
			return o.violated, fmt.Sprintf("reconcile %+v without faults from %s", o.plan, w)
		}
		if n == w {
			if violated := s.checkFixedPoint(o); violated != "" {
				return violated, "at the fixed point " + w.String()
			}
			break
		}
		w = n
	}
	for w := range visited {
		s.converged[w] = true
	}
	return "", ""
}

// trace returns the path to a state.
func (s *search) trace(at int32) (out []string) {
	for {
		out = append([]string{s.from[at].step + "\n      " + s.states[at].String()}, out...)
		if s.from[at].parent == at {
			return out
		}
		at = s.from[at].parent
	}
}

func TestSearch(t *testing.T) {
	list := scenarios(os.Getenv("FLOTILLA_ENGINE_SEARCH") == "full")
	if name := os.Getenv("FLOTILLA_ENGINE_EVENT"); name != "" { // see TestEventMutants
		list = pairs(list, events[name])
	}
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			s := &search{model: &m}
			violated, desc, at := s.run()
			t.Logf("SEARCH %s states=%d edges=%d seconds=%.1f", m.name, len(s.states), s.edges, time.Since(start).Seconds())
			if violated == "" {
				return
			}
			for i, step := range s.trace(at) {
				t.Logf("%2d  %s", i, step)
			}
			t.Fatalf("BROKEN %s: %s\nby: %s", violated, invariants[violated], desc)
		})
	}
}
