package engine

import (
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Reasons of transitions that other packages interpret.
const (
	ReasonDrained            = "Drained"
	ReasonDrainSkipped       = "DrainSkipped"
	ReasonStatefulSetMissing = "StatefulSetMissing"
	ReasonActiveMissing      = "ActiveMissing"
	ReasonUnknownPhase       = "UnknownPhase"
	ReasonRolledBack         = "RolledBack"
)

// Reasons of decisions that the controller reports in addition to the change of phase.
const (
	// ReasonNameTaken is the reason for abandoning a number because an object of another
	// owner has one of its names.
	ReasonNameTaken = "NameTaken"
	// ReasonInconsistent is the reason for replacing a recorded state that does not fit the objects.
	ReasonInconsistent = "Inconsistent"
)

// None stands for "no generation".
const None int64 = -1

// IsTerminal reports whether no generation is rolled out in the phase.
func IsTerminal(phase v1alpha1.EnginePhase) bool {
	return phase == v1alpha1.PhaseStable || phase == v1alpha1.PhaseStopped
}

// ChecksInstance reports whether the phase requires the instance: phases that may compare or create do (specification 001,
// "Layer responsibilities"). A rollout in progress does not wait for it.
func ChecksInstance(phase v1alpha1.EnginePhase) bool {
	return phase == "" || IsTerminal(phase) || phase == v1alpha1.PhaseCreating
}

// IsRollout reports whether a generation is rolled out in the phase; false for an unknown phase.
func IsRollout(phase v1alpha1.EnginePhase) bool {
	switch phase {
	case v1alpha1.PhaseCreating, v1alpha1.PhaseSwitching, v1alpha1.PhaseDraining, v1alpha1.PhaseCleaning:
		return true
	case v1alpha1.PhaseStable, v1alpha1.PhaseStopped:
	}
	return false
}

// State is the part of the status that decisions read and write.
type State struct {
	Phase v1alpha1.EnginePhase
	// Current is being built or, in a terminal phase, serves.
	Current int64
	// Active serves; None before the first switch.
	Active int64
	// Draining is being drained; None outside draining and cleaning.
	Draining int64
	// Allocated is the greatest number that was ever allocated.
	Allocated int64
	// Rejected is the rendering that a rollback abandoned, see [Input.Desired]; empty for none.
	Rejected string
}

// names reports whether the state refers to the generation.
func (s State) names(n int64) bool { return n == s.Current || n == s.Active || n == s.Draining }

// outgoing reports whether a generation is draining next to one that serves.
func (s State) outgoing() bool {
	return s.Draining != None && s.Active != None && s.Active == s.Current && s.Draining != s.Active
}

// StateOf returns the recorded state of a status. A status without an allocated
// number, left by an earlier operator, uses its current generation as the last; a status with
// numbers that no operator allocates is treated as lost.
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
	if !usable(st.Current) || !usable(st.Active) || !usable(st.Draining) { // not written by this operator
		return State{Current: 0, Active: None, Draining: None, Allocated: None}
	}
	if s.LastAllocatedGeneration != nil && usable(*s.LastAllocatedGeneration) {
		st.Allocated = max(st.Allocated, *s.LastAllocatedGeneration)
	}
	return st
}

// usable reports whether a recorded number is valid and leaves room for later ones.
func usable(n int64) bool { return n >= None && n < names.MaxGeneration }

// Existence is the state of one object.
type Existence int

// States of an object.
const (
	Absent Existence = iota
	Present
	Terminating
)

// Match is the result of comparing a StatefulSet with the current rendering.
type Match int

// Unknown means that nothing can be rendered, because the instance has no id or endpoint.
const (
	Unknown Match = iota
	Same
	Differs
)

// Generation describes the existing objects of one generation.
type Generation struct {
	StatefulSet, Headless, Config Existence
	// Match compares the StatefulSet, or the remembered one; it is set for the current and for
	// the active generation.
	Match Match
	// Rendered is true when the StatefulSet was created from the current rendering. It is set like Match.
	Rendered bool
	// Replicas is the number of replicas in the StatefulSet's spec.
	Replicas int32
	// PodsTotal and PodsReady count pods that are neither terminating nor finished.
	PodsTotal, PodsReady int32
	// Held is true when all remaining objects are terminating and only foreign finalizers hold them.
	Held bool
	// Restorable is true when the StatefulSet is absent and its last version is remembered.
	Restorable bool
	// Unlabeled is true when the StatefulSet lacks labels that it was created with.
	Unlabeled bool
	// Taken is true when an object of another owner has one of the generation's names.
	Taken bool
}

// ready reports whether the generation could take traffic. Zero of zero is ready.
func (g Generation) ready() bool {
	return g.StatefulSet == Present && g.PodsTotal == g.Replicas && g.PodsReady == g.Replicas
}

// Edited reports whether the StatefulSet was created from the current rendering, and edited since.
func (g Generation) Edited() bool {
	return g.StatefulSet == Present && g.Match == Differs && g.Rendered
}

// lost reports whether the StatefulSet is absent or terminating.
func (g Generation) lost() bool { return g.StatefulSet != Present }

// hasReadyPod reports whether at least one pod could receive traffic.
func (g Generation) hasReadyPod() bool { return g.StatefulSet == Present && g.PodsReady > 0 }

// hasPodDependencies reports whether the headless Service and the ConfigMap of the pods exist.
func (g Generation) hasPodDependencies() bool { return g.Headless == Present && g.Config == Present }

// removed reports whether the operator has completed its part of the generation's deletion.
func (g Generation) removed() bool {
	return g.Held || (g.StatefulSet == Absent && g.Headless == Absent && g.Config == Absent)
}

// hasObjects reports whether objects are left to delete. Terminating objects do not count.
func (g Generation) hasObjects() bool {
	return g.StatefulSet == Present || g.Headless == Present || g.Config == Present
}

// Snapshot is the observed state. Generations holds those of which any object exists.
type Snapshot struct {
	Generations map[int64]Generation
	// Route is the generation that the cluster Service selects; None when the Service does not exist, or
	// when it selects no generation.
	Route int64
}

// latest returns the greatest observed generation. The Service's selector
// does not count: any user can change it, and a number without objects is not in use.
func (s Snapshot) latest() int64 {
	n := None
	for g := range s.Generations {
		n = max(n, g)
	}
	return n
}

// Input is the complete input of a decision.
type Input struct {
	State    State
	Snapshot Snapshot
	// Replicas is the desired number, with the user's stop command already applied.
	Replicas int32
	// Renderable is true when the instance's id and endpoint are known and the spec can be
	// rendered. Only the phases that compare or create need it.
	Renderable bool
	// Desired identifies the current rendering, independent of its number; empty unless Renderable.
	Desired string
	// OwnSpecChanged is true when the engine's own spec or command changed since it last settled.
	// A generation can also differ because of an edit of its class or its StatefulSet, or
	// another release of the operator: see Throttled.
	OwnSpecChanged bool
	// Throttled is true when a rollout that the engine's own spec did not request waits
	// for other rollouts to end.
	Throttled bool
	// Overdue is true when the current generation missed its progress deadline.
	Overdue bool
	// Rollback enables abandoning an overdue generation in favor of the serving one.
	Rollback bool
	// Confirmed is true when State was checked against the API server.
	Confirmed bool
	Drain     Drain
}

// Drain describes the queries of the draining generation.
type Drain struct {
	Skip    bool          // the rollout is recreate, or the check is disabled
	Drained bool          // no query runs
	Expired bool          // queries run, but the drain timeout has expired
	Every   time.Duration // interval of the checks
}

// Ensure lists the parts of a generation that must exist as rendered. A StatefulSet is listed
// only when it is absent: an existing one is never changed, since its pods have already read
// their configuration.
//
// Restore creates the StatefulSet from the remembered one, not from the current rendering.
type Ensure struct {
	Generation                             int64
	Config, Headless, StatefulSet, Restore bool
}

// Plan is a decision. The write layer executes it in the order of the fields, and
// may crash between any two writes.
type Plan struct {
	// Confirm means that the state must be confirmed first; all other fields are then empty.
	Confirm bool
	Ensure  []Ensure
	// Route is the generation that the cluster Service must select; None leaves the Service unchanged.
	Route int64
	// Relabel lists generations whose StatefulSet gets its original labels.
	Relabel []int64
	// Delete lists generations whose objects are all deleted.
	Delete []int64
	Next   State
	// Settled is true in a terminal phase when the engine matches the spec.
	Settled bool
	// External is true when the plan starts a rollout that the engine's own spec did not
	// request. The caller first checks the number of such rollouts in progress, and decides
	// again with Throttled when there are too many.
	External bool
	// SameRollout is true when the new number replaces one of the same rendering, whose StatefulSet was edited or deleted: the
	// deadline of the rollout continues.
	SameRollout bool
	// Waiting is true when such a rollout is throttled.
	Waiting bool
	// BlockedBy lists the generations whose StatefulSets have to be deleted before the current one is created.
	BlockedBy []int64
	// Reason and Message explain a change of phase.
	Reason, Message string
	// Requeue is the delay of the next reconcile without an event; zero means none.
	Requeue time.Duration
}

// NeedsInstance reports whether the plan starts work that requires the instance with its credentials: a new generation
// number, a StatefulSet with the current rendering, or the switch to it. A rollout after the switch does not wait for it.
// The caller checks the credentials then, and decides again as not renderable if they are missing.
func (p Plan) NeedsInstance(from State) bool {
	if ChecksInstance(from.Phase) {
		return p.Next.Allocated > from.Allocated || p.Next.Phase == v1alpha1.PhaseSwitching ||
			slices.ContainsFunc(p.Ensure, func(e Ensure) bool { return e.StatefulSet })
	}
	return false
}
