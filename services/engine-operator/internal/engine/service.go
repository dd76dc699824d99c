package engine

import (
	"fmt"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// The status can hold a state that the operator did not record last: a restored backup, or a write of another client.
// The cluster Service decides then, because traffic must not leave ready pods for a generation without any.

// serves reports whether the generation answers queries, or need not because the engine is stopped.
func (d *decider) serves(g Generation) bool {
	return g.hasReadyPod() || (g.StatefulSet == Present && g.Replicas == 0 && d.Replicas == 0)
}

// servesElsewhere reports whether the Service selects a generation that serves, while the active one does not. Of two
// generations without ready pods, only one with a StatefulSet, or one that can be restored, can serve again.
func (d *decider) servesElsewhere() bool {
	route := d.Snapshot.Route
	routed, active := d.generation(route), d.generation(d.State.Active)
	switch {
	case route == None || route == d.State.Active || routed.StatefulSet != Present:
		return false
	case routed.hasReadyPod():
		return !d.serves(active)
	}
	return active.lost() && !active.Restorable
}

// mustFollowService reports whether the record contradicts the Service, and the recorded phase has no step of its own
// that keeps traffic where it is.
func (d *decider) mustFollowService() bool {
	if !d.servesElsewhere() {
		return false
	}
	switch d.State.Phase {
	case v1alpha1.PhaseCreating, v1alpha1.PhaseSwitching:
		return d.Snapshot.Route != d.State.Current
	case v1alpha1.PhaseDraining, v1alpha1.PhaseCleaning:
		return !d.State.outgoing() || d.Snapshot.Route != d.State.Draining || !d.lost()
	case v1alpha1.PhaseStable, v1alpha1.PhaseStopped:
	}
	return true
}

// followService records the generation that the Service selects as the active one, and nothing else. A
// current generation that exists is completed next to it, and a draining one still ends its queries.
func (d *decider) followService() {
	s, route := d.State, d.Snapshot.Route
	message := fmt.Sprintf("Generation %d, which the status names as active, does not serve; traffic stays on generation %d.", s.Active, route)
	if s.Active == None {
		message = fmt.Sprintf("The status names no active generation; traffic stays on generation %d.", route)
	}
	d.recordOnly = true
	d.plan.Next.Active = route
	if d.generation(s.Current).StatefulSet != Present {
		d.plan.Next.Current = route
		if draining := d.plan.Next.Draining; draining != None && draining != route && !d.generation(draining).removed() {
			d.enter(s.Phase, ReasonInconsistent, message)
			return
		}
	}
	d.settle(ReasonInconsistent, message)
}
