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
// Decide only compares them and adds one, so [modelState.renumbered] closes the gaps of deleted
// generations.
const slots = 8

// rendering represents the content of a StatefulSet or of a ConfigMap: the engine's own
// spec, its class and the instance's endpoint.
type rendering int8

// noRendering is the empty rendering, editedRendering is one that a user edited; renderings of the operator
// are greater.
const (
	noRendering     rendering = 0
	editedRendering rendering = -1
)

// specWithoutReplicas is the engine's own spec that requests zero replicas; the others request one.
const specWithoutReplicas = 2

func (r rendering) spec() int8 {
	if r <= noRendering {
		return 0
	}
	return int8(r-1) & 3
}

func (r rendering) replicas() int32 {
	if r.spec() == specWithoutReplicas {
		return 0
	}
	return 2
}

func (r rendering) String() string {
	switch r {
	case noRendering:
		return ""
	case editedRendering:
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

// genState is the state of one generation.
type genState struct {
	sts                       int8 // an [Existence]
	hl, cm                    bool
	stsRendering, cmRendering rendering // inputs of the StatefulSet and of the configuration
	lastVersion               rendering // last version of a deleted StatefulSet
	ready                     bool      // all pods are ready
	partlyReady               bool      // some pods are ready
	unlabeled                 bool      // the StatefulSet lost its labels
	nameTaken                 bool      // the StatefulSet's name belongs to a foreign object
	retired                   bool      // the operator deleted one of its objects
	foreignFinalizer          bool      // the StatefulSet has a foreign finalizer
}

func (c genState) absent() bool { return c.sts == int8(Absent) && !c.hl && !c.cm }

// held reports whether only a foreign finalizer holds the remaining objects.
func (c genState) held() bool {
	return c.sts == int8(Terminating) && c.foreignFinalizer && !c.hl && !c.cm
}

// routable reports whether traffic could be routed there.
func (c genState) routable() bool {
	return c.sts == int8(Present) && (c.ready || c.stsRendering.replicas() == 0)
}

// hasReadyPod reports whether some pods are ready.
func (c genState) hasReadyPod() bool {
	return c.sts == int8(Present) && c.stsRendering.replicas() > 0 && (c.ready || c.partlyReady)
}

// children are the engine's objects.
type children struct {
	gens  [slots]genState
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
	uninitialized int8 = iota
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

func newRecord(s State) record {
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

// references reports whether the record names the generation.
func (r record) references(n int8) bool {
	return n != int8(None) && (n == r.current || n == r.active || n == r.draining)
}

// object is the engine object and the other inputs of its rendering. A change of class,
// endpoint or instance changes neither its resource version nor its generation.
type object struct {
	st                    record
	spec, class, endpoint int8
	instanceExists        bool // the instance exists
	specChanged           bool // the spec changed since the engine settled
}

func (o object) desired() rendering { return 1 + rendering(o.spec|o.class<<2|o.endpoint<<3) }

// modelState is one state of the model.
type modelState struct {
	eng object
	// old is the state that a cache of the engine and its inputs may still hold. newer and
	// edited report whether its resource version and its generation have changed since.
	old           object
	newer, edited bool
	children      children
	// staleChildren is the content of the children's cache while childrenStale is true.
	staleChildren children
	childrenStale bool

	drained, expired, overdue bool
	nextNameTaken             bool // the next new name will belong to another owner
	noCredentials             bool // the credentials of the instance are deleted, and only a read of the API server shows it

	budget // remaining number of events
}

// unlimited is an unlimited budget.
const unlimited = 100

func consume(budget *int8) {
	if *budget != unlimited {
		*budget--
	}
}

// cachedChildren returns the children in the cache.
func (w *modelState) cachedChildren() *children {
	if w.childrenStale {
		return &w.staleChildren
	}
	return &w.children
}

// renumbered closes gaps: it removes numbers without objects and references
// and keeps the order of the others. The last allocated number becomes the
// greatest remaining one, so the next number is new again.
func (w modelState) renumbered() modelState {
	var to ranks
	next := int8(0)
	for n := range int8(slots) {
		live := !w.children.gens[n].absent() || (w.childrenStale && !w.staleChildren.gens[n].absent()) || w.children.route == n ||
			(w.childrenStale && w.staleChildren.route == n) || w.eng.st.references(n) || w.old.st.references(n)
		if live {
			next++
		}
		to[n] = next - 1
	}
	for _, st := range []*record{&w.eng.st, &w.old.st} {
		st.current, st.active, st.draining = to.of(st.current), to.of(st.active), to.of(st.draining)
		st.allocated = to.of(st.allocated)
	}
	w.children = w.children.renumbered(to)
	if w.childrenStale {
		w.staleChildren = w.staleChildren.renumbered(to)
	}
	return w.normalized()
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
	for n := range c.gens {
		if to[n] > below {
			out.gens[to[n]] = c.gens[n]
		}
		below = to[n]
	}
	return out
}

// normalized resets state that no longer makes a difference.
func (w modelState) normalized() modelState {
	for n := range int8(slots) {
		c := &w.children.gens[n]
		if c.sts == int8(Absent) {
			c.stsRendering, c.ready, c.partlyReady, c.foreignFinalizer, c.unlabeled = noRendering, false, false, false, false
		}
		if c.sts == int8(Present) || n != w.eng.st.active && n != w.old.st.active {
			c.lastVersion = noRendering
		}
		c.partlyReady = c.partlyReady && !c.ready
		c.nameTaken = c.nameTaken && (w.eng.st.references(n) || w.old.st.references(n))
		if !c.cm {
			c.cmRendering = noRendering
		}
		if c.absent() && !w.eng.st.references(n) && !w.old.st.references(n) {
			c.retired = false
		}
	}
	return w
}

func (w modelState) String() string {
	var b strings.Builder
	show := func(o object) {
		s := o.st.state()
		fmt.Fprintf(&b, "%s current=%d active=%d draining=%d allocated=%d rejected=%q desired=%s instance=%t spec_changed=%t",
			s.Phase, s.Current, s.Active, s.Draining, s.Allocated, s.Rejected, o.desired(), o.instanceExists, o.specChanged)
	}
	show(w.eng)
	if w.old != w.eng || w.newer {
		fmt.Fprintf(&b, "\n      cached (newer=%t edited=%t): ", w.newer, w.edited)
		show(w.old)
	}
	fmt.Fprintf(&b, "\n      drained=%t expired=%t overdue=%t children_stale=%t no_credentials=%t", w.drained, w.expired, w.overdue, w.childrenStale, w.noCredentials)
	writeChildren := func(title string, c children) {
		fmt.Fprintf(&b, "\n      %s: Service selects %d", title, c.route)
		for n, g := range c.gens {
			if !g.absent() || g.retired || g.lastVersion != noRendering || g.nameTaken {
				fmt.Fprintf(&b, "; g%d statefulset=%d(%s) ready=%t partly_ready=%t headless=%t config=%t(%s) retired=%t last=%s unlabeled=%t taken=%t", n, g.sts, g.stsRendering, g.routable(), g.partlyReady, g.hl, g.cm, g.cmRendering, g.retired, g.lastVersion, g.unlabeled, g.nameTaken)
			}
		}
	}
	writeChildren("objects", w.children)
	if w.childrenStale {
		writeChildren("cached objects", w.staleChildren)
	}
	return b.String()
}
