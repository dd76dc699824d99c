package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// terminal handles stable and stopped: compare, repair in place, or allocate the next generation.
func (d *decider) terminal() {
	s := d.State
	if s.Active == None || s.Active != s.Current {
		d.settle(ReasonInconsistent, "The recorded generations do not fit a terminal phase.")
		return
	}
	d.serve(s.Active)
	g := d.generation(s.Current)
	switch {
	case !d.Renderable:
		d.rebuild()
		d.plan.Requeue = RequeueDependency
	case g.StatefulSet != Present && g.Match == Differs && d.Desired != "" && d.Desired == s.Rejected:
		d.rebuild()
		d.keepServing(RequeueWait)
	case g.StatefulSet != Present:
		d.allocate(ReasonStatefulSetMissing, fmt.Sprintf("The StatefulSet of generation %d was deleted.", s.Current))
	case g.Match == Differs && d.Desired != "" && d.Desired == s.Rejected:
		d.keepServing(RequeueDrift)
	case g.Match == Differs && !d.OwnSpecChanged && d.Throttled:
		d.keepServing(RequeueDrift) // a free slot enqueues the engine
		d.plan.Waiting = true
	case g.Match == Differs:
		d.allocate("SpecChanged", fmt.Sprintf("Generation %d differs from the spec.", s.Current))
		d.plan.External = !d.OwnSpecChanged
	default:
		d.settled()
	}
}

// settled records that no change is pending, and sets the phase from the desired replicas.
func (d *decider) settled() {
	d.plan.Next.Rejected = ""
	d.plan.Settled = true
	d.plan.Requeue = RequeueDrift
	if want := terminalPhase(d.Replicas); d.State.Phase != want {
		d.enter(want, "ReplicasChanged", "The terminal phase follows the desired replicas.")
	}
}

// keepServing keeps a generation serving that does not match the spec. Its inputs are no longer
// known: a missing ConfigMap is restored with the current rendering, since without one
// none of its pods could start again.
func (d *decider) keepServing(requeueAfter time.Duration) {
	n := d.State.Active
	d.ensure(Ensure{Generation: n, Config: d.generation(n).Config == Absent})
	d.plan.Requeue = requeueAfter
}

// creating builds the current generation while the active one, if any, serves.
func (d *decider) creating() {
	s := d.State
	if s.Current == s.Active {
		d.rebuildActive()
		return
	}
	g := d.generation(s.Current)
	if d.Snapshot.Route == s.Current && (s.Active == None || d.servesElsewhere()) {
		d.enter(v1alpha1.PhaseSwitching, "AlreadyRouted", fmt.Sprintf("Traffic is already routed to generation %d.", s.Current))
		return
	}
	d.serve(s.Active)
	if d.replaces(g) {
		d.enter(v1alpha1.PhaseSwitching, ReasonActiveMissing, fmt.Sprintf("The StatefulSet of generation %d was deleted; generation %d has ready pods.", s.Active, s.Current))
		return
	}
	if d.generation(s.Active).Match != Same { // otherwise the generation that is built would be identical
		d.rebuild()
	}
	d.advance(g)
}

// advance completes the current generation, replaces it, or abandons it.
func (d *decider) advance(g Generation) {
	s := d.State
	switch {
	case !d.Renderable:
		d.plan.Requeue = RequeueDependency
	case d.reverted(g):
		d.abandon("Reverted", fmt.Sprintf("The spec was reverted to generation %d; generation %d is abandoned.", s.Active, s.Current))
	case g.Edited() && d.shouldRollBack(g): // another generation may be edited too
		d.rollBack()
	case g.StatefulSet == Present && g.Match == Differs:
		d.allocate("SpecChanged", fmt.Sprintf("Generation %d is abandoned: the spec changed.", s.Current))
		d.plan.SameRollout = g.Edited()
	case g.StatefulSet == Terminating: // it may stay terminating indefinitely
		d.allocate(ReasonStatefulSetMissing, fmt.Sprintf("The StatefulSet of generation %d is being deleted.", s.Current))
		d.plan.SameRollout = g.Rendered
	case g.Taken:
		d.allocate(ReasonNameTaken, fmt.Sprintf("A name of generation %d belongs to an object of another owner.", s.Current))
		d.plan.SameRollout = true
	case g.ready() && g.hasPodDependencies():
		d.enter(v1alpha1.PhaseSwitching, "PodsReady", fmt.Sprintf("The pods of generation %d are ready.", s.Current))
	case d.shouldRollBack(g):
		d.rollBack()
	default:
		d.build(g)
		d.plan.Requeue = RequeueWait
	}
}

// replaces reports whether the current generation receives traffic before all its pods are
// ready, because the generation that should serve has no StatefulSet.
func (d *decider) replaces(g Generation) bool { return d.lost() && g.hasReadyPod() }

// reverted reports whether the spec matches the serving generation again, and not the one being built.
func (d *decider) reverted(g Generation) bool {
	return d.canRevert() && d.generation(d.State.Active).Match == Same && (g.StatefulSet != Present || g.Match != Same)
}

// shouldRollBack reports whether the current generation is abandoned because it missed its deadline. A
// generation that was never built is not, and neither is one that replaces the empty generation of a stopped engine.
func (d *decider) shouldRollBack(g Generation) bool {
	return d.Overdue && d.Rollback && d.canRevert() && g.StatefulSet == Present &&
		(d.Replicas == 0 || d.generation(d.State.Active).Replicas > 0)
}

// rollBack abandons the current generation and rejects its rendering.
func (d *decider) rollBack() {
	d.plan.Next.Rejected = d.Desired
	d.abandon(ReasonRolledBack, fmt.Sprintf("Generation %d missed its progress deadline; generation %d keeps serving.", d.State.Current, d.State.Active))
}

// canRevert reports whether the active generation still exists.
func (d *decider) canRevert() bool {
	return d.State.Active != None && d.generation(d.State.Active).StatefulSet == Present
}

// abandon returns from the current generation to the active one. Its number is not used
// again; [decider.deleteUnreferenced] deletes its objects once the return is recorded.
func (d *decider) abandon(reason, message string) {
	d.plan.Next.Current = d.State.Active
	d.settle(reason, message)
}

// build ensures the current generation, unless two others still have a StatefulSet.
func (d *decider) build(g Generation) {
	if g.StatefulSet == Absent && !d.hasCapacity(d.State.Current) {
		d.plan.BlockedBy = d.blocking()
		return
	}
	d.ensure(Ensure{Generation: d.State.Current, Config: true, Headless: true, StatefulSet: g.StatefulSet == Absent})
}

// blocking returns the generations that neither serve nor are built and whose StatefulSet still exists.
func (d *decider) blocking() (out []int64) {
	for n, g := range d.Snapshot.Generations {
		if !d.State.names(n) && g.StatefulSet != Absent && !g.Held {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// rebuildActive handles a state that records the creation of the generation that already serves.
func (d *decider) rebuildActive() {
	if d.generation(d.State.Active).StatefulSet == Present {
		d.serve(d.State.Active)
		d.settle("AlreadyActive", "The current generation already serves.")
		return
	}
	if d.Renderable {
		d.allocate(ReasonStatefulSetMissing, fmt.Sprintf("The StatefulSet of generation %d was deleted.", d.State.Active))
		return
	}
	d.plan.Requeue = RequeueDependency
}

// switching moves the cluster Service after a last readiness check. A Service that
// was already moved stays, unless the StatefulSet was deleted meanwhile and
// an older generation can serve again.
func (d *decider) switching() {
	s := d.State
	g := d.generation(s.Current)
	switch {
	case d.Snapshot.Route == s.Current && (g.StatefulSet == Present || !d.canRevert()):
		d.serve(s.Current)
		d.switched()
	case g.ready() && d.serves(g) || d.replaces(g):
		d.serve(s.Current)
		d.plan.Requeue = RequeueNow
	default:
		d.serve(s.Active)
		d.enter(v1alpha1.PhaseCreating, "NoLongerReady", fmt.Sprintf("Generation %d is no longer ready to serve.", s.Current))
	}
}

// switched records the switch that the Service already shows.
func (d *decider) switched() {
	s := d.State
	d.plan.Next.Active = s.Current
	message := fmt.Sprintf("Traffic is routed to generation %d.", s.Current)
	if s.Active == None || s.Active == s.Current {
		d.settle("Switched", message)
		return
	}
	d.plan.Next.Draining = s.Active
	if d.Drain.Skip { // the wait is skipped entirely (specification 001, "Phase descriptions")
		d.enter(v1alpha1.PhaseCleaning, ReasonDrainSkipped, fmt.Sprintf("%s Generation %d is removed without a drain check.", message, s.Active))
		return
	}
	d.enter(v1alpha1.PhaseDraining, "Switched", message)
}

// draining waits until the old generation has no queries left.
func (d *decider) draining() {
	s := d.State
	d.serve(s.Active)
	d.rebuild()
	old := d.generation(s.Draining)
	switch {
	case !s.outgoing():
		d.settle("NothingToDrain", "No generation is draining.")
	case d.lost() && old.StatefulSet == Present, d.startedAgain(old), d.failed(old):
		d.revert()
	case d.Drain.Skip:
		d.enter(v1alpha1.PhaseCleaning, ReasonDrainSkipped, fmt.Sprintf("Generation %d is removed without a drain check.", s.Draining))
	case old.StatefulSet == Absent || d.Drain.Drained:
		d.enter(v1alpha1.PhaseCleaning, ReasonDrained, fmt.Sprintf("Generation %d has no queries left.", s.Draining))
	case d.Drain.Expired:
		d.enter(v1alpha1.PhaseCleaning, v1alpha1.ReasonDrainTimeoutExceeded, fmt.Sprintf("Generation %d still runs queries, but its drain timeout has expired.", s.Draining))
	default:
		if old.Headless == Absent {
			d.ensure(Ensure{Generation: s.Draining, Headless: true})
		}
		d.plan.Requeue = d.Drain.Every
	}
}

// cleaning deletes the old generation and stays until it no longer exists.
func (d *decider) cleaning() {
	s := d.State
	d.serve(s.Active)
	d.rebuild()
	switch {
	case !s.outgoing():
		d.settle("NothingToClean", "No generation is left to remove.")
	case d.lost() && d.generation(s.Draining).StatefulSet == Present, d.failed(d.generation(s.Draining)):
		d.revert()
	case d.generation(s.Draining).removed():
		d.settle("RolledOut", fmt.Sprintf("Generation %d serves; generation %d was removed.", s.Active, s.Draining))
	case d.Snapshot.Route == s.Draining:
		d.plan.Requeue = RequeueNow // the Service moves first, then clients
	default:
		if d.generation(s.Draining).hasObjects() {
			d.plan.Delete = append(d.plan.Delete, s.Draining)
		}
		d.plan.Requeue = RequeueWait
	}
}

// startedAgain reports whether the engine was stopped and is started again: the generation that serves is empty,
// while the old one still has ready pods. In cleaning it would be too late: a stale cache may show pods of a generation
// that is being deleted.
func (d *decider) startedAgain(old Generation) bool {
	active := d.generation(d.State.Active)
	return d.Replicas > 0 && active.StatefulSet == Present && active.Replicas == 0 && old.hasReadyPod()
}

// failed reports whether all pods of the generation that serves failed, while the old one still has ready pods. Unlike
// startedAgain, it depends on no other input than the pods, so a cache that is stale since the deletion shows the same.
func (d *decider) failed(old Generation) bool {
	active := d.generation(d.State.Active)
	return active.StatefulSet == Present && active.Replicas > 0 && !active.hasReadyPod() && old.hasReadyPod()
}

// revert routes traffic to the draining generation again, whose successor was deleted or has no ready
// pods. The successor is completed or replaced.
func (d *decider) revert() {
	s := d.State
	var reason, cause string
	switch {
	case d.lost():
		reason, cause = ReasonStatefulSetMissing, fmt.Sprintf("The StatefulSet of generation %d was deleted", s.Active)
	case d.generation(s.Active).Replicas == 0:
		reason, cause = "StartedAgain", fmt.Sprintf("Replicas are desired again and generation %d has none", s.Active)
	default:
		reason, cause = "PodsFailed", fmt.Sprintf("Generation %d has no ready pods", s.Active)
	}
	d.plan.Next.Active, d.plan.Next.Draining = s.Draining, None
	d.enter(v1alpha1.PhaseCreating, reason, fmt.Sprintf("%s; generation %d serves again.", cause, s.Draining))
	d.plan.Ensure, d.plan.Route, d.recordOnly = nil, None, true
}
