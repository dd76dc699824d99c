package engine

import (
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// reconcileState is the state that the steps of one reconcile share.
type reconcileState struct {
	engine *v1alpha1.FireboltEngine
	gone   bool   // the last finalizer was removed
	stale  bool   // the API server has a newer version of the engine
	held   string // what foreign finalizers hold of a deleted engine

	children observe.Children
	observed bool // children were read
	class    *v1alpha1.FireboltEngineClass
	instance *v1alpha1.FireboltInstance
	// noClass and gate describe the problem of the class and of the instance; empty without one.
	noClass, gate string
	// unsupported, rejected and bounds describe what admission would reject, ignored its warnings.
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
	turn     bool // a rollout slot is held and not recorded yet
}

// begin sets the plan to "nothing", which holds until the decision.
func (p *reconcileState) begin() {
	p.plan = engine.Plan{Route: engine.None, Next: engine.StateOf(p.engine.Status)}
}

// abandon drops a decision that was not carried out: its state must not be recorded.
func (p *reconcileState) abandon() {
	p.begin()
	p.decided = false
}

// gateAsked reports whether the phase checks the instance: those that may compare or
// create (seed 001, "Layer responsibilities"). A rollout in flight does not stall for it.
func (p *reconcileState) gateAsked() bool {
	switch p.engine.Status.Phase {
	case "", v1alpha1.PhaseStable, v1alpha1.PhaseStopped, v1alpha1.PhaseCreating:
		return true
	}
	return false
}

// ownSpecChanged reports whether the engine's own spec or command, and not only its class or an
// operator release, requires a change. Only they set the number of replicas.
func (p *reconcileState) ownSpecChanged() bool {
	g, ok := p.snapshot.Generations[p.plan.Next.Current]
	return p.engine.Generation != p.engine.Status.ObservedGeneration ||
		(ok && g.Replicas != status.Replicas(p.engine))
}

// isTransitional reports whether the writes of this reconcile enqueue the next one at once, whose
// result supersedes this one. States between two phases are not reported.
func (p *reconcileState) isTransitional() bool {
	phase := p.plan.Next.Phase
	return p.decided && p.plan.Requeue == engine.RequeueNow && phase != v1alpha1.PhaseStable && phase != v1alpha1.PhaseStopped
}

// applied reports whether the current generation matches the spec and its controller has
// observed it.
func (p *reconcileState) applied() bool {
	set := p.children.StatefulSets[p.plan.Next.Current]
	return set != nil && set.Status.ObservedGeneration >= set.Generation &&
		p.snapshot.Generations[p.plan.Next.Current].Match == engine.Same
}

// outcome collects the input of the status.
func (p *reconcileState) outcome() status.Engine {
	out := status.Engine{
		Object: p.engine, Plan: p.plan, Decided: p.decided, Gate: p.gate, GateAsked: p.gateAsked() && !status.Intent(p.engine).Paused,
		Class: p.noClass, Unsupported: p.unsupported, Rejected: p.rejected, Bounds: p.bounds, Ignored: p.ignored,
		Held: p.held, DrainTrouble: p.drainTrouble, Overdue: p.overdue, Expired: p.drain.Expired, Warning: p.warning,
	}
	out.PodsReady, out.PodsTotal, out.Replicas, out.Image = status.Serving(p.children, p.plan.Next.Active)
	return out
}

// resolved is the flat description of the engine.
func (p *reconcileState) resolved() (resolve.Engine, error) {
	return resolve.Resolve(p.engine, p.class, status.Replicas(p.engine))
}
