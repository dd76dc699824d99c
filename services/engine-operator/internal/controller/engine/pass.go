package engine

import (
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// pass is the state that the steps of one reconcile share.
type pass struct {
	engine *v1.FireboltEngine
	gone   bool   // the last finalizer was removed
	stale  bool   // the API server has a newer version of the engine
	held   string // what somebody else's finalizers keep of a deleted engine

	children observe.Children
	observed bool // children were read
	class    *v1.FireboltEngineClass
	instance *v1.FireboltInstance
	// noClass and gate say what is wrong with the class and the instance, empty when nothing is.
	noClass, gate string
	// unsupported, rejected and bounds say what admission would refuse, ignored what it warns of.
	unsupported, rejected, bounds, ignored string

	// input of the rendering; desired is nil when it cannot be rendered.
	input   render.Input
	desired *render.Generation

	drain        engine.Drain
	drainTrouble string
	overdue      bool
	warning      status.Warning

	snapshot engine.Snapshot
	plan     engine.Plan
	decided  bool
	turn     bool // a turn was taken, and is not recorded yet
}

// begin sets the plan to "nothing", which stands until the decision.
func (p *pass) begin() {
	p.plan = engine.Plan{Route: engine.None, Next: engine.StateOf(p.engine.Status)}
}

// abandon drops a decision that was not carried out: its state must not be recorded.
func (p *pass) abandon() {
	p.begin()
	p.decided = false
}

// gateAsked says whether the phase looks at the instance: those that may compare or
// create (seed 001, "Layer responsibilities"). A rollout in flight does not stall for it.
func (p *pass) gateAsked() bool {
	switch p.engine.Status.Phase {
	case "", v1.PhaseStable, v1.PhaseStopped, v1.PhaseCreating:
		return true
	}
	return false
}

// asked says whether the engine's own spec or command, and not only its class or a release,
// asks for something else than what runs. Only they set the number of replicas.
func (p *pass) asked() bool {
	g, ok := p.snapshot.Generations[p.plan.Next.Current]
	return p.engine.Generation != p.engine.Status.ObservedGeneration ||
		(ok && g.Replicas != status.Replicas(p.engine))
}

// passing says that what this pass wrote wakes the next one at once, which has more to
// tell: the moments between two phases are no news.
func (p *pass) passing() bool {
	phase := p.plan.Next.Phase
	return p.decided && p.plan.Requeue == engine.RequeueNow && phase != v1.PhaseStable && phase != v1.PhaseStopped
}

// applied says whether the current generation is what the spec asks for, and its
// controller has seen it.
func (p *pass) applied() bool {
	set := p.children.StatefulSets[p.plan.Next.Current]
	return set != nil && set.Status.ObservedGeneration >= set.Generation &&
		p.snapshot.Generations[p.plan.Next.Current].Match == engine.Same
}

// outcome gathers what the status is made from.
func (p *pass) outcome() status.Engine {
	out := status.Engine{
		Object: p.engine, Plan: p.plan, Decided: p.decided, Gate: p.gate, GateAsked: p.gateAsked() && !status.Intent(p.engine).Paused,
		Class: p.noClass, Unsupported: p.unsupported, Rejected: p.rejected, Bounds: p.bounds, Ignored: p.ignored,
		Held: p.held, DrainTrouble: p.drainTrouble, Overdue: p.overdue, Expired: p.drain.Expired, Warning: p.warning,
	}
	out.PodsReady, out.PodsTotal, out.Replicas, out.Image = status.Serving(p.children, p.plan.Next.Active)
	return out
}

// resolved is the flat description of the engine.
func (p *pass) resolved() (resolve.Engine, error) {
	return resolve.Resolve(p.engine, p.class, status.Replicas(p.engine))
}
