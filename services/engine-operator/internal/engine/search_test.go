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
	ids    map[world]int32
	worlds []world
	from   []arrival
	edges  int
	rests  map[world]bool // states from which undisturbed steps reach a fixed point
}

// arrival records how a state was first reached.
type arrival struct {
	parent int32
	what   string
}

// run returns the name of the first invariant that breaks, and the state and step that broke it.
func (s *search) run() (broken, what string, at int32) {
	s.ids, s.rests = map[world]int32{}, map[world]bool{}
	for _, w := range s.start() {
		s.visit(w, int32(len(s.worlds)), "")
	}
	for at = 0; int(at) < len(s.worlds); at++ {
		w := s.worlds[at]
		if broken, what = s.comesToRest(w); broken != "" {
			return broken, what, at
		}
		add := func(step string, n world) {
			n = n.renumbered()
			if n == w {
				return
			}
			s.edges++
			s.visit(n, at, step)
		}
		if broken, what = s.operator(w, add); broken != "" {
			return broken, what, at
		}
		s.environment(w, add)
		if len(s.worlds) > s.limit {
			return "NumbersFitTheModel", "too many states", at
		}
	}
	return "", "", 0
}

func (s *search) visit(w world, parent int32, what string) {
	if _, ok := s.ids[w]; ok {
		return
	}
	s.ids[w] = int32(len(s.worlds))
	s.worlds = append(s.worlds, w)
	s.from = append(s.from, arrival{parent, what})
}

// operator runs every reconcile: from the fresh or the cached engine, held or not, and with a crash
// before each of its writes.
func (s *search) operator(w world, add func(string, world)) (broken, what string) {
	for _, v := range s.views(w) {
		d := s.decide(&w, v)
		for crash := range len(d.writes) + 2 {
			o := s.carryOut(w, d, crash)
			if o.broken != "" {
				return o.broken, fmt.Sprintf("reconcile (cached=%t raced=%t held=%t) %+v", v.cached, v.raced, v.held, o.plan)
			}
			add(name(v), o.world)
		}
	}
	return "", ""
}

// name returns a constant for a view: formatting would cost more than the reconcile.
func name(v view) string {
	switch {
	case v.raced:
		return "a reconcile, the spec is edited meanwhile"
	case v.cached:
		return "a reconcile from a stale engine"
	case v.held:
		return "a throttled reconcile"
	}
	return "a reconcile"
}

func (s *search) views(w world) []view {
	out := []view{{object: w.eng}}
	if s.holds && w.eng.st.terminal() {
		out = append(out, view{object: w.eng, held: true})
	}
	if w.old != w.eng || w.newer {
		out = append(out, view{object: w.old, cached: true})
		if w.edited && w.old.st == w.eng.st {
			out = append(out, view{object: w.old, cached: true, raced: true})
		}
	}
	return out
}

// undisturbed runs one complete reconcile and the reaction of the cluster.
func (s *search) undisturbed(w world) (outcome, world) {
	d := s.decide(&w, view{object: w.eng})
	o := s.carryOut(w, d, len(d.writes)+1)
	n := o.world
	for i := range n.kids.cells {
		c := &n.kids.cells[i]
		if c.sts == int8(Terminating) && !c.kept {
			c.sts = int8(Absent)
		}
		c.ready = c.sts == int8(Present) && !s.hopeless(*c)
		c.some = c.some && c.sts == int8(Present) && !c.ready
	}
	return o, s.calm(n)
}

// calm resets all pending faults of a state.
func (s *search) calm(w world) world {
	w.budget = budget{}
	w.eng.up = true
	w.old, w.newer, w.edited = w.eng, false, false
	w.lag, w.lagging = children{}, false
	w.drained, w.expired = !s.stuck && !s.endless, s.stuck
	w.overdue = s.bad > 0 && w.eng.st.phase == creating
	return w.renumbered()
}

// comesToRest checks that undisturbed steps reach a fixed point. It caches results, so each calm state
// is checked once in a search.
func (s *search) comesToRest(w world) (broken, what string) {
	if w = s.calm(w); s.rests[w] {
		return "", ""
	}
	way := map[world]bool{}
	for !s.rests[w] {
		if way[w] {
			return "EveryFairPathEndsTerminal", "undisturbed steps run in a circle through " + w.String()
		}
		way[w] = true
		o, n := s.undisturbed(w)
		if o.broken != "" {
			return o.broken, fmt.Sprintf("undisturbed pass %+v from %s", o.plan, w)
		}
		if n == w {
			if broken := s.checkRest(o); broken != "" {
				return broken, "at rest in " + w.String()
			}
			break
		}
		w = n
	}
	for w := range way {
		s.rests[w] = true
	}
	return "", ""
}

// trace returns the path to a state.
func (s *search) trace(at int32) (out []string) {
	for {
		out = append([]string{s.from[at].what + "\n      " + s.worlds[at].String()}, out...)
		if s.from[at].parent == at {
			return out
		}
		at = s.from[at].parent
	}
}

func TestSearch(t *testing.T) {
	for _, m := range scenarios(os.Getenv("FLOTILLA_ENGINE_SEARCH") == "full") {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			s := &search{model: &m}
			broken, what, at := s.run()
			t.Logf("SEARCH %s states=%d edges=%d seconds=%.1f", m.name, len(s.worlds), s.edges, time.Since(began).Seconds())
			if broken == "" {
				return
			}
			for i, step := range s.trace(at) {
				t.Logf("%2d  %s", i, step)
			}
			t.Fatalf("BROKEN %s: %s\nby: %s", broken, invariants[broken], what)
		})
	}
}
