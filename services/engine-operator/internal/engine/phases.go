package engine

import (
	"fmt"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// terminal is stable and stopped: compare, repair in place, or record the next generation.
func (d *decision) terminal() {
	s := d.State
	if s.Active == None || s.Active != s.Current {
		d.settle("Inconsistent", "The recorded generations do not fit a terminal phase.")
		return
	}
	g := d.generation(s.Current)
	switch {
	case !d.Renderable:
		d.serve(s.Active)
		d.plan.Requeue = RequeueGate
	case g.StatefulSet != Present:
		d.allocate("StatefulSetMissing", fmt.Sprintf("The StatefulSet of generation %d is gone.", s.Current))
	case g.Match == Differs:
		d.allocate("SpecChanged", fmt.Sprintf("Generation %d differs from the spec.", s.Current))
	default:
		d.serve(s.Active)
		d.ensure(Ensure{Generation: s.Active, Config: true, Headless: true})
		d.plan.Next.Draining = None
		d.plan.Settled = true
		d.plan.Requeue = RequeueDrift
		if want := TerminalPhase(d.Replicas); s.Phase != want {
			d.enter(want, "ReplicasChanged", "The terminal phase follows the wanted replicas.")
		}
	}
}

// creating builds the current generation while the active one, if any, serves.
func (d *decision) creating() {
	s := d.State
	if s.Current == s.Active {
		d.rebuildActive()
		return
	}
	g := d.generation(s.Current)
	d.serve(s.Active)
	d.plan.Next.Draining = None
	switch {
	case s.Active == None && d.Snapshot.Route == s.Current:
		d.enter(v1.PhaseSwitching, "AlreadyRouted", fmt.Sprintf("Traffic goes to generation %d already.", s.Current))
	case !d.Renderable:
		d.plan.Requeue = RequeueGate
	case g.StatefulSet == Present && g.Match == Differs:
		d.allocate("SpecChanged", fmt.Sprintf("Generation %d is abandoned, the spec changed.", s.Current))
	case g.ready() && g.Match == Same && g.Headless == Present && g.Config == Present:
		d.enter(v1.PhaseSwitching, "PodsReady", fmt.Sprintf("The pods of generation %d are ready.", s.Current))
	default:
		d.build(g)
		d.plan.Requeue = RequeueWait
	}
}

// build ensures the current generation, unless two others still have a StatefulSet.
func (d *decision) build(g Generation) {
	others := 0
	for n, o := range d.Snapshot.Generations {
		if n != d.State.Current && o.StatefulSet != Absent {
			others++
		}
	}
	if g.StatefulSet == Absent && others >= 2 {
		return
	}
	d.ensure(Ensure{Generation: d.State.Current, Config: true, Headless: true, StatefulSet: g.StatefulSet == Absent})
}

// rebuildActive leads out of a state that claims to create what already serves.
func (d *decision) rebuildActive() {
	if d.generation(d.State.Active).StatefulSet == Present {
		d.serve(d.State.Active)
		d.settle("AlreadyActive", "The current generation already serves.")
		return
	}
	if d.Renderable {
		d.allocate("StatefulSetMissing", fmt.Sprintf("The StatefulSet of generation %d is gone.", d.State.Active))
		return
	}
	d.plan.Requeue = RequeueGate
}

// switching moves the cluster Service, and looks once more before it does.
func (d *decision) switching() {
	s := d.State
	g := d.generation(s.Current)
	switch {
	case d.Snapshot.Route == s.Current:
		d.serve(s.Current)
		d.switched()
	case g.ready():
		d.serve(s.Current)
		d.plan.Requeue = RequeueNow
	default:
		d.serve(s.Active)
		d.enter(v1.PhaseCreating, "NoLongerReady", fmt.Sprintf("The pods of generation %d are not ready any more.", s.Current))
	}
}

// switched records what the Service already does.
func (d *decision) switched() {
	s := d.State
	d.plan.Next.Active = s.Current
	message := fmt.Sprintf("Traffic goes to generation %d.", s.Current)
	if s.Active != None && s.Active != s.Current {
		d.plan.Next.Draining = s.Active
		d.enter(v1.PhaseDraining, "Switched", message)
		return
	}
	d.settle("Switched", message)
}

// draining waits until the old generation has no queries left.
func (d *decision) draining() {
	s := d.State
	d.serve(s.Active)
	old := d.generation(s.Draining)
	switch {
	case s.Draining == None || s.Draining == s.Active:
		d.settle("NothingToDrain", "No generation is draining.")
	case d.Drain.Skip:
		d.enter(v1.PhaseCleaning, "DrainSkipped", fmt.Sprintf("Generation %d goes without a drain check.", s.Draining))
	case old.StatefulSet == Absent || d.Drain.Drained:
		d.enter(v1.PhaseCleaning, "Drained", fmt.Sprintf("Generation %d has no queries left.", s.Draining))
	default:
		if old.Headless == Absent {
			d.ensure(Ensure{Generation: s.Draining, Headless: true})
		}
		d.plan.Requeue = d.Drain.Every
	}
}

// cleaning deletes the old generation and stays until it is gone.
func (d *decision) cleaning() {
	s := d.State
	d.serve(s.Active)
	switch {
	case s.Draining == None || s.Draining == s.Active:
		d.settle("NothingToClean", "No generation is left to clean.")
	case d.generation(s.Draining).gone():
		d.settle("RolledOut", fmt.Sprintf("Generation %d serves, generation %d is gone.", s.Active, s.Draining))
	case d.Snapshot.Route != s.Draining:
		d.plan.Delete = append(d.plan.Delete, s.Draining)
		d.plan.Requeue = RequeueWait
	default:
		d.plan.Requeue = RequeueNow // the Service comes first
	}
}
