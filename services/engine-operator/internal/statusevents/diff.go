package statusevents

import (
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// Outcome is how the rollout of a generation ended.
type Outcome string

// Outcomes of a rollout. All but the first leave a generation behind that never served.
const (
	Completed  Outcome = "completed"   // the new generation serves, and the old one is deleted
	RolledBack Outcome = "rolled_back" // it missed its deadline, and automaticRollback abandoned it
	Reverted   Outcome = "reverted"    // the spec was changed back to what serves
	Abandoned  Outcome = "abandoned"   // another generation was started before it served
)

// Outcomes lists them.
func Outcomes() []Outcome { return []Outcome{Completed, RolledBack, Reverted, Abandoned} }

// Drain is how the wait for the old generation's queries ended.
type Drain string

// Ends of a drain.
const (
	Drained Drain = "drained" // no query was left
	Skipped Drain = "skipped" // not checked: rollout recreate, or the check is switched off
	Expired Drain = "expired" // queries were left when drainTimeout was over
)

// Drains lists them.
func Drains() []Drain { return []Drain{Drained, Skipped, Expired} }

// Reasons of transitions that the decision gives and that mean something here. A test
// holds them against the decision.
const (
	reasonDrained      = "Drained"
	reasonDrainSkipped = "DrainSkipped"
	reasonMissing      = "StatefulSetMissing"
	reasonActiveLost   = "ActiveMissing"
	reasonInconsistent = "Inconsistent"
	reasonUnknownPhase = "UnknownPhase"
	reasonRolledBack   = "RolledBack"
)

// reasonPhaseChanged stands for a transition that gives none.
const reasonPhaseChanged = "PhaseChanged"

// Change describes one write of an engine's status.
type Change struct {
	// Moved is true when the phase changed; Entry then explains it.
	Moved    bool
	From, To v1alpha1.EnginePhase
	Entry    transition.Entry

	// Started is true when a generation got its number; the status after the write names it.
	Started bool
	// Outcome of the rollout that ended, of generation Generation, which began at Since
	// (nil: not recorded); empty when none ended.
	Outcome    Outcome
	Generation int64
	Since      *time.Time

	// Drain that ended, and when it began (nil: not recorded); empty when none ended.
	Drain         Drain
	DrainingSince *time.Time
}

// Diff computes the change of an engine from its status before and after a write.
func Diff(before, after v1alpha1.FireboltEngineStatus) Change {
	n := Change{From: before.Phase, To: after.Phase, Moved: before.Phase != after.Phase}
	if n.Moved {
		n.Entry = newest(before.Transitions, after.Transitions, string(after.Phase))
	}
	n.Started = before.Phase == "" && after.Phase != "" || after.CurrentGeneration > before.CurrentGeneration
	if n.Outcome = ended(before, after); n.Outcome != "" {
		n.Generation = before.CurrentGeneration
		if before.RolloutStartedAt != nil {
			n.Since = &before.RolloutStartedAt.Time
		}
	}
	if n.Moved {
		n.Drain = drained(n.Entry.Reason)
	}
	if n.Drain != "" && before.Phase == v1alpha1.PhaseDraining {
		n.DrainingSince = since(before.Transitions, v1alpha1.PhaseDraining)
	}
	return n
}

// newest is the entry that the write appended. A phase of another writer leaves none.
func newest(before, after []transition.Entry, to string) transition.Entry {
	if len(after) > 0 {
		last := after[len(after)-1]
		if last.To == to && (len(before) == 0 || before[len(before)-1].Seq < last.Seq) {
			return last
		}
	}
	return transition.Entry{To: to, Reason: reasonPhaseChanged}
}

// ended returns how the rollout of the previous current generation ended, if it did.
func ended(before, after v1alpha1.FireboltEngineStatus) Outcome {
	if !rolling(before.Phase) {
		return ""
	}
	unserved := before.CurrentGeneration != before.ActiveGeneration
	switch {
	case after.CurrentGeneration < before.CurrentGeneration && after.RejectedRendering != "":
		return RolledBack
	case after.CurrentGeneration < before.CurrentGeneration:
		return Reverted
	case after.CurrentGeneration > before.CurrentGeneration && unserved:
		return Abandoned
	case terminal(after.Phase) && before.Phase != v1alpha1.PhaseCreating:
		return Completed
	}
	return ""
}

func rolling(p v1alpha1.EnginePhase) bool {
	switch p {
	case v1alpha1.PhaseCreating, v1alpha1.PhaseSwitching, v1alpha1.PhaseDraining, v1alpha1.PhaseCleaning:
		return true
	case v1alpha1.PhaseStable, v1alpha1.PhaseStopped:
	}
	return false
}

func terminal(p v1alpha1.EnginePhase) bool {
	return p == v1alpha1.PhaseStable || p == v1alpha1.PhaseStopped
}

func drained(reason string) Drain {
	switch reason {
	case reasonDrained:
		return Drained
	case reasonDrainSkipped:
		return Skipped
	case v1alpha1.ReasonDrainTimeoutExceeded:
		return Expired
	}
	return ""
}

// since is when a phase last began.
func since(ring []transition.Entry, phase v1alpha1.EnginePhase) *time.Time {
	for i := len(ring) - 1; i >= 0; i-- {
		if ring[i].To == string(phase) {
			return &ring[i].Time.Time
		}
	}
	return nil
}
