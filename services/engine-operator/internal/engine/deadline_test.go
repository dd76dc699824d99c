package engine

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// edited returns a generation of the current rendering whose StatefulSet was edited.
func edited() Generation { return with(older(), func(g *Generation) { g.Rendered = true }) }

// The deadline of a rollout continues when only its StatefulSet was edited or deleted, or when a name was taken.
func TestDecideContinuesDeadline(t *testing.T) {
	next := func(reason, message string, same bool) Plan {
		return Plan{
			Route: None, Next: at(v1alpha1.PhaseCreating, 2, 0, None), Requeue: RequeueNow,
			Reason: reason, Message: message, SameRollout: same,
		}
	}
	in := func(current Generation) Input {
		return Input{State: building(), Renderable: true, Snapshot: observed(0, map[int64]Generation{0: older(), 1: current})}
	}
	changed := "Generation 1 is abandoned: the spec changed."
	deleted := "The StatefulSet of generation 1 is being deleted."
	taken := "A name of generation 1 belongs to an object of another owner."
	runEdges(t, withReplicas(2, map[string]edge{
		"another spec":                {in: in(older()), want: next("SpecChanged", changed, false)},
		"an edited StatefulSet":       {in: in(edited()), want: next("SpecChanged", changed, true)},
		"a deletion":                  {in: in(terminating(edited())), want: next("StatefulSetMissing", deleted, true)},
		"a deletion and another spec": {in: in(terminating(older())), want: next("StatefulSetMissing", deleted, false)},
		"a taken name":                {in: in(Generation{Taken: true}), want: next("NameTaken", taken, true)},
	}))
}

// createdFrom reports whether the StatefulSet was created from the rendering. Its configuration shows that of an edited one.
func (c genState) createdFrom(r rendering) bool {
	return c.stsRendering == r || (c.stsRendering == editedRendering && c.cmRendering == r)
}

// checkDeadline checks the deadline of a rollout that continues under a new number.
func (p *reconcile) checkDeadline(isNew bool) {
	was := p.state.eng.st
	if !isNew || was.phase != creating || was.current == was.active {
		return
	}
	c, desired := p.cached.gens[was.current], p.view.desired()
	if c.sts != int8(Present) {
		return
	}
	rollback := p.rollback && p.before.overdue && was.active >= 0 && p.cached.gens[was.active].sts == int8(Present) &&
		(desired.replicas() == 0 || p.cached.gens[was.active].stsRendering.replicas() > 0)
	p.violatesIf("EditsKeepDeadline", c.createdFrom(desired) != p.plan.SameRollout || p.plan.SameRollout && rollback)
}
