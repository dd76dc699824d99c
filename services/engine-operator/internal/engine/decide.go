package engine

import (
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// Delays of the next reconcile without an event. These reconciles read only caches.
const (
	RequeueDrift      = 30 * time.Second // check for drift
	RequeueDependency = 10 * time.Second // the instance is not ready
	RequeueWait       = 5 * time.Second  // pods start, or objects terminate
	// RequeueNow means that the event of our own write is pending. It is shorter than all intervals that users can set, the
	// smallest of which is a second: the states before it are not published.
	RequeueNow = 900 * time.Millisecond
)

// Decide returns the next step. It is total: every state, also one that no release of
// this operator writes, has a next step, and repeated calls with a cluster
// that applies the plans reach a terminal phase.
func Decide(in Input) Plan {
	d := decider{Input: in, plan: Plan{Next: in.State, Route: None}}
	if in.State.Phase == "" {
		d.initialize()
		return d.plan
	}
	// An older status may lack numbers that were allocated since.
	d.plan.Next.Allocated = max(in.State.Allocated, in.Snapshot.latest())
	if in.State.Phase != v1alpha1.PhaseDraining && in.State.Phase != v1alpha1.PhaseCleaning {
		d.plan.Next.Draining = None
	}
	d.decidePhase()
	d.deleteUnreferenced()
	d.relabel()
	if !in.Confirmed && d.needsConfirmation() {
		return Plan{Confirm: true, Next: in.State, Route: None}
	}
	return d.plan
}

// decidePhase decides the next step of the recorded phase, unless the cluster Service contradicts the record.
func (d *decider) decidePhase() {
	if d.mustFollowService() {
		d.followService()
		return
	}
	switch d.State.Phase {
	case v1alpha1.PhaseStable, v1alpha1.PhaseStopped:
		d.terminal()
	case v1alpha1.PhaseCreating:
		d.creating()
	case v1alpha1.PhaseSwitching:
		d.switching()
	case v1alpha1.PhaseDraining:
		d.draining()
	case v1alpha1.PhaseCleaning:
		d.cleaning()
	default:
		d.settle(ReasonUnknownPhase, "The recorded phase is unknown to this release.")
	}
}

type decider struct {
	Input
	plan Plan
	// recordOnly is set by decisions that must be recorded before any other write.
	recordOnly bool
}

func (d *decider) generation(n int64) Generation { return d.Snapshot.Generations[n] }

// initialize sets the initial status. Children of an engine whose status was lost keep serving,
// and none of their numbers is reused.
func (d *decider) initialize() {
	active := None
	if d.generation(d.Snapshot.Route).StatefulSet == Present {
		active = d.Snapshot.Route
	}
	next := d.Snapshot.latest() + 1
	d.plan.Next = State{Phase: v1alpha1.PhaseCreating, Current: next, Active: active, Draining: None, Allocated: next}
	d.plan.Reason, d.plan.Message = v1alpha1.ReasonInitializing, "The engine is new."
	d.plan.Requeue = RequeueNow
}

// enter sets the next phase.
func (d *decider) enter(phase v1alpha1.EnginePhase, reason, message string) {
	d.plan.Next.Phase = phase
	d.plan.Reason, d.plan.Message = reason, message
	d.plan.Requeue = RequeueNow
}

// settle enters the terminal phase. Only it distinguishes stable from stopped.
func (d *decider) settle(reason, message string) {
	d.plan.Next.Draining = None
	if d.plan.Next.Active == None || d.plan.Next.Active != d.plan.Next.Current {
		d.enter(v1alpha1.PhaseCreating, reason, message)
		return
	}
	d.enter(terminalPhase(d.Replicas), reason, message)
	// The status write of the phase change records this too, which saves a reconcile.
	g := d.generation(d.plan.Next.Current)
	d.plan.Settled = d.Renderable && g.StatefulSet == Present && g.Match == Same
}

// terminalPhase returns stopped for zero desired replicas, and stable otherwise.
func terminalPhase(replicas int32) v1alpha1.EnginePhase {
	if replicas == 0 {
		return v1alpha1.PhaseStopped
	}
	return v1alpha1.PhaseStable
}

// allocate records the intent to build a new generation, and nothing else: the
// replaced generation is changed only after the number is written.
func (d *decider) allocate(reason, message string) {
	next := d.plan.Next.Allocated + 1
	d.plan.Next.Current, d.plan.Next.Allocated = next, next
	d.plan.Next.Rejected = ""
	d.enter(v1alpha1.PhaseCreating, reason, message)
	d.plan.Ensure, d.plan.Route, d.recordOnly = nil, None, true
}

// serve keeps a generation reachable: the cluster Service selects it and its headless Service
// exists. Its ConfigMap is ensured only while it is known, that is while the
// generation matches the current rendering.
func (d *decider) serve(n int64) {
	if n == None {
		return
	}
	d.plan.Route = n
	known := n == d.State.Current && d.generation(n).Match == Same
	d.ensure(Ensure{Generation: n, Headless: true, Config: known})
}

func (d *decider) ensure(e Ensure) {
	if i := slices.IndexFunc(d.plan.Ensure, func(o Ensure) bool { return o.Generation == e.Generation }); i >= 0 {
		o := &d.plan.Ensure[i]
		o.Config, o.Headless = o.Config || e.Config, o.Headless || e.Headless
		o.StatefulSet, o.Restore = o.StatefulSet || e.StatefulSet, o.Restore || e.Restore
		return
	}
	d.plan.Ensure = append(d.plan.Ensure, e)
}

// lost reports whether the StatefulSet of the serving generation is absent or terminating.
func (d *decider) lost() bool { return d.State.Active != None && d.generation(d.State.Active).lost() }

// rebuild recreates the StatefulSet of the serving generation under its number: from the
// remembered object if there is one, otherwise with the current rendering.
func (d *decider) rebuild() {
	n := d.State.Active
	g := d.generation(n)
	switch {
	case n == None || g.StatefulSet != Absent || g.Taken || !d.hasCapacity(n):
	case g.Restorable:
		d.ensure(Ensure{Generation: n, Restore: true})
	case d.Renderable && n == d.State.Current:
		d.ensure(Ensure{Generation: n, Config: true, Headless: true, StatefulSet: true})
	}
}

// hasCapacity reports whether a StatefulSet of the generation may be created: at most two exist at a time.
// A StatefulSet that only a foreign finalizer holds does not count.
func (d *decider) hasCapacity(n int64) bool {
	count := 0
	for other, g := range d.Snapshot.Generations {
		if other != n && g.StatefulSet != Absent && !g.Held {
			count++
		}
	}
	for _, e := range d.plan.Ensure {
		if e.Generation != n && (e.StatefulSet || e.Restore) {
			count++
		}
	}
	return count < 2
}

// relabel restores the original labels of StatefulSets that stay.
func (d *decider) relabel() {
	if d.recordOnly {
		return
	}
	for n, g := range d.Snapshot.Generations {
		if g.Unlabeled && g.StatefulSet == Present && !slices.Contains(d.plan.Delete, n) {
			d.plan.Relabel = append(d.plan.Relabel, n)
		}
	}
	slices.Sort(d.plan.Relabel)
}

// movesService reports whether the plan changes which generation the Service selects.
func (d *decider) movesService() bool {
	return d.plan.Route != None && d.plan.Route != d.Snapshot.Route
}

// deleteUnreferenced deletes generations without a reference: abandoned ones, and those that a
// crash or an earlier operator left behind. While the Service moves, the cache does not show what it selects.
func (d *decider) deleteUnreferenced() {
	if d.recordOnly || d.movesService() {
		return
	}
	d.plan.Delete = append(d.plan.Delete, d.unreferenced()...)
	slices.Sort(d.plan.Delete)
	d.plan.Delete = slices.Compact(d.plan.Delete)
}

// unreferenced returns the existing generations to which neither the status nor the Service refers.
func (d *decider) unreferenced() []int64 {
	var out []int64
	for n, g := range d.Snapshot.Generations {
		if !d.referenced(n) && g.hasObjects() {
			out = append(out, n)
		}
	}
	return out
}

func (d *decider) referenced(n int64) bool {
	return n == d.Snapshot.Route || d.State.names(n) || d.plan.Next.names(n)
}

// needsConfirmation reports whether the plan contains an action that is unsafe from stale state. A deletion is one: the
// status may have named the generation since, because the Service selected it or because the successor of a draining one
// was lost. Whether the Service selects it now is checked later, see [ConfirmUnrouted].
func (d *decider) needsConfirmation() bool {
	if len(d.plan.Delete) > 0 || d.movesService() {
		return true
	}
	return slices.ContainsFunc(d.plan.Ensure, func(e Ensure) bool {
		g := d.generation(e.Generation)
		return (e.Config && g.Config == Absent) || (e.Headless && g.Headless == Absent) ||
			(e.StatefulSet && g.StatefulSet == Absent) || e.Restore
	})
}
