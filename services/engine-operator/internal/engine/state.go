package engine

import (
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// ReasonNameTaken is the reason of a number that is abandoned because an object of another
// owner has one of its names.
const ReasonNameTaken = "NameTaken"

// None stands for "no generation".
const None int64 = -1

// State is the recorded part: what the status says.
type State struct {
	Phase v1alpha1.EnginePhase
	// Current is being built or, in a terminal phase, serves.
	Current int64
	// Active serves; None before the first switch.
	Active int64
	// Draining is being drained; None outside draining and cleaning.
	Draining int64
	// Allocated is the greatest number ever given out.
	Allocated int64
	// Rejected names the rendering that a rollback gave up, see [Input.Desired]; empty for none.
	Rejected string
}

// names reports whether the state refers to the generation.
func (s State) names(n int64) bool { return n == s.Current || n == s.Active || n == s.Draining }

// outgoing reports whether there is a generation to drain, next to one that serves.
func (s State) outgoing() bool {
	return s.Draining != None && s.Active != None && s.Active == s.Current && s.Draining != s.Active
}

// StateOf reads the recorded state out of a status. A status without an allocated
// number, left by an earlier operator, counts its current generation as the last; one with
// numbers that no operator gives out is as good as lost.
func StateOf(s v1alpha1.FireboltEngineStatus) State {
	st := State{
		Phase: s.Phase, Current: s.CurrentGeneration, Active: s.ActiveGeneration,
		Draining: None, Allocated: max(s.CurrentGeneration, s.ActiveGeneration), Rejected: s.RejectedRendering,
	}
	if s.Phase == "" {
		return State{Current: 0, Active: None, Draining: None, Allocated: None}
	}
	if s.DrainingGeneration != nil {
		st.Draining = *s.DrainingGeneration
	}
	if !usable(st.Current) || !usable(st.Active) || !usable(st.Draining) { // nothing that this operator wrote
		return State{Current: 0, Active: None, Draining: None, Allocated: None}
	}
	if s.LastAllocatedGeneration != nil && usable(*s.LastAllocatedGeneration) {
		st.Allocated = max(st.Allocated, *s.LastAllocatedGeneration)
	}
	return st
}

// usable reports whether a recorded number leaves room for the next ones.
func usable(n int64) bool { return n >= None && n < names.MaxGeneration }

// Existence of one object.
type Existence int

// An object can be absent, present, or terminating.
const (
	Absent Existence = iota
	Present
	Terminating
)

// Match describes how a StatefulSet compares with what would be rendered now.
type Match int

// Unknown when nothing can be rendered, for lack of the instance's id or endpoint.
const (
	Unknown Match = iota
	Same
	Differs
)

// Generation is what exists of one generation.
type Generation struct {
	StatefulSet, Headless, Config Existence
	// Match compares the StatefulSet, or what is remembered of it; set for the current and for
	// the active generation.
	Match Match
	// Replicas is what the StatefulSet requires.
	Replicas int32
	// PodsTotal and PodsReady count pods that are neither going nor finished.
	PodsTotal, PodsReady int32
	// Held is true when all remaining objects are terminating and only foreign finalizers hold them.
	Held bool
	// Restorable is true when the StatefulSet is absent and its last rendering is remembered.
	Restorable bool
	// Unlabeled is true when the StatefulSet lacks labels that it was made with.
	Unlabeled bool
	// Taken is true when an object of another owner has one of the generation's names.
	Taken bool
}

// ready reports whether the generation could take traffic. Zero of zero is ready.
func (g Generation) ready() bool {
	return g.StatefulSet == Present && g.PodsTotal == g.Replicas && g.PodsReady == g.Replicas
}

// lost reports whether the StatefulSet is gone or going.
func (g Generation) lost() bool { return g.StatefulSet != Present }

// answers reports whether some pods could take traffic.
func (g Generation) answers() bool { return g.StatefulSet == Present && g.PodsReady > 0 }

// whole reports whether the pods have their names and their configuration.
func (g Generation) whole() bool { return g.Headless == Present && g.Config == Present }

// removed reports whether the operator has completed its part of the generation's removal.
func (g Generation) removed() bool {
	return g.Held || (g.StatefulSet == Absent && g.Headless == Absent && g.Config == Absent)
}

// standing reports whether anything is left to delete. Terminating objects need only time.
func (g Generation) standing() bool {
	return g.StatefulSet == Present || g.Headless == Present || g.Config == Present
}

// Snapshot is the seen part. Generations holds those of which anything exists.
type Snapshot struct {
	Generations map[int64]Generation
	// Route is what the cluster Service selects; None when there is no such Service, or
	// when it selects no generation.
	Route int64
}

// newest is the greatest generation of which anything was seen. The Service's selector
// does not count: anybody may write there, and a number that no object has is not in use.
func (s Snapshot) newest() int64 {
	n := None
	for g := range s.Generations {
		n = max(n, g)
	}
	return n
}

// Input is all that a decision depends on.
type Input struct {
	State    State
	Snapshot Snapshot
	// Replicas wanted, with the user's stop command already applied.
	Replicas int32
	// Renderable is true when the instance's id and endpoint are known and the spec can be
	// rendered. Only the phases that compare or create need it.
	Renderable bool
	// Desired names the rendering that is wanted now, whatever its number; empty unless Renderable.
	Desired string
	// OwnSpecChanged is true when the engine's own spec or command changed since it last settled.
	// A generation can also differ because of an edit of its class or its StatefulSet, or
	// another release of the operator: see Throttled.
	OwnSpecChanged bool
	// Throttled is true when a rollout that the engine's own spec did not request has to wait
	// for others to end.
	Throttled bool
	// Overdue is true when the current generation missed its progress deadline.
	Overdue bool
	// Rollback gives an overdue generation up for the one that serves.
	Rollback bool
	// Confirmed is true when State was checked against the API server.
	Confirmed bool
	Drain     Drain
}

// Drain is what is known about the queries of the draining generation.
type Drain struct {
	Skip    bool          // rollout recreate, or the check is switched off
	Drained bool          // no query is left
	Expired bool          // queries are left, but their time is over
	Every   time.Duration // between two checks
}

// Ensure names parts of a generation that must exist as rendered. A StatefulSet is named
// only when it is absent: one that exists is never changed, its pods have read their
// configuration already.
//
// Restore creates the StatefulSet as it was, not as it would be rendered now.
type Ensure struct {
	Generation                             int64
	Config, Headless, StatefulSet, Restore bool
}

// Plan is a decision. The write layer carries it out in the order of the fields, and
// may crash between any two writes.
type Plan struct {
	// Confirm means that the state must be confirmed first; all other fields are then empty.
	Confirm bool
	Ensure  []Ensure
	// Route is the generation that the cluster Service must select; None leaves it alone.
	Route int64
	// Relabel lists generations whose StatefulSet gets its labels back.
	Relabel []int64
	// Delete lists generations of which nothing may remain.
	Delete []int64
	Next   State
	// Settled is true in a terminal phase without any difference to the spec.
	Settled bool
	// External is true when the plan starts a rollout that the engine's own spec did not
	// request. The caller first checks the number of such rollouts in progress, and decides
	// again with Throttled when there are too many.
	External bool
	// Waiting is true when such a rollout is throttled.
	Waiting bool
	// Reason and Message explain a change of phase.
	Reason, Message string
	// Requeue is when to check again without an event; zero means not at all.
	Requeue time.Duration
}
