package engine

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// The model has one engine, its children and its environment. It is small enough to visit every state,
// and comparable, so that visited states can be map keys. Its
// operator is the real [Decide] with the rules of the write layer around it, see
// operator_test.go; environment_test.go has the other actors.

// slots is the number of generations that can be distinguished at a time. Numbers grow without limit, but
// Decide only compares them and adds one, so [world.renumbered] closes the gaps of deleted
// generations.
const slots = 8

// rendering represents the content of a StatefulSet or of a ConfigMap: the engine's own
// spec, its class and the instance's endpoint.
type rendering int8

// nothing is the empty rendering, byHand is one that a user edited; renderings of the operator
// are greater.
const (
	nothing rendering = 0
	byHand  rendering = -1
)

// atZero is the engine's own spec that requests zero replicas; the others request one.
const atZero = 2

func (r rendering) spec() int8 {
	if r <= nothing {
		return 0
	}
	return int8(r-1) & 3
}

func (r rendering) replicas() int32 {
	if r.spec() == atZero {
		return 0
	}
	return 2
}

func (r rendering) String() string {
	switch r {
	case nothing:
		return ""
	case byHand:
		return "edited"
	}
	return fmt.Sprintf("spec%d-class%d-endpoint%d", r.spec(), (r-1)>>2&1, (r-1)>>3&1)
}

// renderingNames avoids a string allocation for each decision.
var renderingNames = func() (out [17]string) {
	for i := range out {
		out[i] = rendering(i).String()
	}
	return out
}()

// cell is one generation.
type cell struct {
	sts        int8 // an [Existence]
	hl, cm     bool
	made, conf rendering // inputs of the StatefulSet and of the configuration
	past       rendering // last version of a deleted StatefulSet
	ready      bool      // all pods are ready
	some       bool      // some pods are ready
	bare       bool      // the StatefulSet lost its labels
	taken      bool      // the StatefulSet's name belongs to a foreign object
	retired    bool      // the operator deleted one of its objects
	kept       bool      // the StatefulSet has a foreign finalizer
}

func (c cell) gone() bool { return c.sts == int8(Absent) && !c.hl && !c.cm }

// held reports whether only a foreign finalizer holds the remaining objects.
func (c cell) held() bool { return c.sts == int8(Terminating) && c.kept && !c.hl && !c.cm }

// able reports whether traffic could be routed there.
func (c cell) able() bool {
	return c.sts == int8(Present) && (c.ready || c.made.replicas() == 0)
}

// answers reports whether some pods are ready.
func (c cell) answers() bool {
	return c.sts == int8(Present) && c.made.replicas() > 0 && (c.ready || c.some)
}

// children are the engine's objects.
type children struct {
	cells [slots]cell
	route int8 // generation that the cluster Service selects, or None
}

// record is a compact [State].
type record struct {
	phase                                int8 // index into phases
	current, active, draining, allocated int8
	rejected                             rendering
}

var phases = [...]v1alpha1.EnginePhase{
	"", v1alpha1.PhaseStable, v1alpha1.PhaseStopped, v1alpha1.PhaseCreating, v1alpha1.PhaseSwitching, v1alpha1.PhaseDraining, v1alpha1.PhaseCleaning, "melting",
}

const (
	unborn int8 = iota
	stable
	stopped
	creating
	switching
	draining
	cleaning
)

func (r record) terminal() bool { return r.phase == stable || r.phase == stopped }

func (r record) state() State {
	return State{
		Phase: phases[r.phase], Current: int64(r.current), Active: int64(r.active),
		Draining: int64(r.draining), Allocated: int64(r.allocated), Rejected: renderingNames[r.rejected],
	}
}

func recordOf(s State) record {
	r := record{
		current: int8(s.Current), active: int8(s.Active), draining: int8(s.Draining),
		allocated: int8(s.Allocated),
	}
	for i, p := range phases {
		if p == s.Phase {
			r.phase = int8(i)
		}
	}
	for i, name := range renderingNames {
		if name == s.Rejected {
			r.rejected = rendering(i)
		}
	}
	return r
}

// refers reports whether the record names the generation.
func (r record) refers(n int8) bool {
	return n != int8(None) && (n == r.current || n == r.active || n == r.draining)
}

// object is the engine object and the other inputs of its rendering. A change of class,
// endpoint or instance changes neither its resource version nor its generation.
type object struct {
	st                    record
	spec, class, endpoint int8
	up                    bool // the instance exists
	asked                 bool // the spec changed since the engine settled
}

func (o object) wants() rendering { return 1 + rendering(o.spec|o.class<<2|o.endpoint<<3) }

// world is one state of the model.
type world struct {
	eng object
	// old is the state that a cache of the engine and its inputs may still hold. newer and
	// edited report whether its resource version and its generation have changed since.
	old           object
	newer, edited bool
	kids          children
	// lag is what the cache of the children shows while lagging.
	lag     children
	lagging bool

	drained, expired, overdue bool
	squatter                  bool // the next new name will belong to another owner

	budget // remaining number of events
}

// endless is an unlimited budget.
const endless = 100

func spend(budget *int8) {
	if *budget != endless {
		*budget--
	}
}

// seen returns the children in the cache.
func (w *world) seen() *children {
	if w.lagging {
		return &w.lag
	}
	return &w.kids
}

// renumbered closes gaps: it removes numbers without objects and references
// and keeps the order of the others. The last allocated number becomes the
// greatest remaining one, so the next number is new again.
func (w world) renumbered() world {
	var to ranks
	next := int8(0)
	for n := range int8(slots) {
		live := !w.kids.cells[n].gone() || (w.lagging && !w.lag.cells[n].gone()) || w.kids.route == n ||
			(w.lagging && w.lag.route == n) || w.eng.st.refers(n) || w.old.st.refers(n)
		if live {
			next++
		}
		to[n] = next - 1
	}
	for _, st := range []*record{&w.eng.st, &w.old.st} {
		st.current, st.active, st.draining = to.of(st.current), to.of(st.active), to.of(st.draining)
		st.allocated = to.of(st.allocated)
	}
	w.kids = w.kids.renumbered(to)
	if w.lagging {
		w.lag = w.lag.renumbered(to)
	}
	return w.forgetful()
}

// ranks maps a number to its rank among the existing ones, and a deleted one to the rank below it.
type ranks [slots]int8

func (r ranks) of(n int8) int8 {
	if n < 0 {
		return n
	}
	return r[min(n, slots-1)]
}

func (c children) renumbered(to ranks) children {
	out := children{route: to.of(c.route)}
	below := int8(-1)
	for n := range c.cells {
		if to[n] > below {
			out.cells[to[n]] = c.cells[n]
		}
		below = to[n]
	}
	return out
}

// forgetful resets state that no longer makes a difference.
func (w world) forgetful() world {
	for n := range int8(slots) {
		c := &w.kids.cells[n]
		if c.sts == int8(Absent) {
			c.made, c.ready, c.some, c.kept, c.bare = nothing, false, false, false, false
		}
		if c.sts == int8(Present) || n != w.eng.st.active && n != w.old.st.active {
			c.past = nothing
		}
		c.some = c.some && !c.ready
		c.taken = c.taken && (w.eng.st.refers(n) || w.old.st.refers(n))
		if !c.cm {
			c.conf = nothing
		}
		if c.gone() && !w.eng.st.refers(n) && !w.old.st.refers(n) {
			c.retired = false
		}
	}
	return w
}

func (w world) String() string {
	var b strings.Builder
	show := func(o object) {
		s := o.st.state()
		fmt.Fprintf(&b, "%s current=%d active=%d draining=%d allocated=%d rejected=%q wants=%s up=%t asked=%t",
			s.Phase, s.Current, s.Active, s.Draining, s.Allocated, s.Rejected, o.wants(), o.up, o.asked)
	}
	show(w.eng)
	if w.old != w.eng || w.newer {
		fmt.Fprintf(&b, "\n      cached (newer=%t edited=%t): ", w.newer, w.edited)
		show(w.old)
	}
	fmt.Fprintf(&b, "\n      drained=%t expired=%t overdue=%t lagging=%t", w.drained, w.expired, w.overdue, w.lagging)
	kids := func(title string, c children) {
		fmt.Fprintf(&b, "\n      %s: Service selects %d", title, c.route)
		for n, g := range c.cells {
			if !g.gone() || g.retired || g.past != nothing || g.taken {
				fmt.Fprintf(&b, "; g%d statefulset=%d(%s) ready=%t some=%t headless=%t config=%t(%s) retired=%t past=%s bare=%t taken=%t", n, g.sts, g.made, g.able(), g.some, g.hl, g.cm, g.conf, g.retired, g.past, g.bare, g.taken)
			}
		}
	}
	kids("objects", w.kids)
	if w.lagging {
		kids("cached objects", w.lag)
	}
	return b.String()
}
