package statusevents

import (
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
)

// Outcome is the result of the rollout of a generation.
type Outcome string

// Outcomes of a rollout. All except the first leave a generation that never served.
const (
	Completed  Outcome = "completed"   // the new generation serves, and the old one is deleted
	RolledBack Outcome = "rolled_back" // the generation missed its deadline, and automaticRollback abandoned it
	Reverted   Outcome = "reverted"    // the spec was changed back to the serving generation
	Abandoned  Outcome = "abandoned"   // another generation was started before it served
)

// Outcomes lists the outcomes.
func Outcomes() []Outcome { return []Outcome{Completed, RolledBack, Reverted, Abandoned} }

// Drain is the result of a drain.
type Drain string

// Results of a drain.
const (
	Drained Drain = "drained" // no query was running
	Skipped Drain = "skipped" // not checked: rollout recreate, or the check is disabled
	Expired Drain = "expired" // queries were running when drainTimeout expired
)

// Drains lists the results of a drain.
func Drains() []Drain { return []Drain{Drained, Skipped, Expired} }

// reasonPhaseChanged is the reason of a transition without one.
const reasonPhaseChanged = "PhaseChanged"

// Change describes one write of an engine's status.
type Change struct {
	// Moved is true when the phase changed; Entry then explains it.
	Moved    bool
	From, To v1alpha1.EnginePhase
	Entry    transition.Entry

	// Started is true when a generation number was allocated; the status after the write contains it.
	Started bool
	// Outcome is the outcome of the rollout of generation Generation that ended, empty when none ended;
	// Since is its start, nil if not recorded.
	Outcome    Outcome
	Generation int64
	Since      *time.Time

	// Drain is the drain that ended, and its start (nil: not recorded); empty when none ended.
	Drain         Drain
	DrainingSince *time.Time
}

// Diff computes the change of an engine from its status before and after a write.
func Diff(before, after v1alpha1.FireboltEngineStatus) Change {
	n := Change{From: before.Phase, To: after.Phase, Moved: before.Phase != after.Phase}
	if n.Moved {
		n.Entry = latest(before.Transitions, after.Transitions, string(after.Phase))
	}
	n.Started = before.Phase == "" && after.Phase != "" || after.CurrentGeneration > before.CurrentGeneration
	if n.Outcome = rolloutOutcome(before, after); n.Outcome != "" {
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

// latest returns the entry that the write appended. A phase of another writer has none.
func latest(before, after []transition.Entry, to string) transition.Entry {
	if len(after) > 0 {
		last := after[len(after)-1]
		if last.To == to && (len(before) == 0 || before[len(before)-1].Seq < last.Seq) {
			return last
		}
	}
	return transition.Entry{To: to, Reason: reasonPhaseChanged}
}

// rolloutOutcome returns the outcome of the previous current generation's rollout, or an empty string.
func rolloutOutcome(before, after v1alpha1.FireboltEngineStatus) Outcome {
	if !engine.IsRollout(before.Phase) {
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
	case engine.IsTerminal(after.Phase) && before.Phase != v1alpha1.PhaseCreating:
		return Completed
	}
	return ""
}

func drained(reason string) Drain {
	switch reason {
	case engine.ReasonDrained:
		return Drained
	case engine.ReasonDrainSkipped:
		return Skipped
	case v1alpha1.ReasonDrainTimeoutExceeded:
		return Expired
	}
	return ""
}

// since returns when a phase last began.
func since(ring []transition.Entry, phase v1alpha1.EnginePhase) *time.Time {
	for i := len(ring) - 1; i >= 0; i-- {
		if ring[i].To == string(phase) {
			return &ring[i].Time.Time
		}
	}
	return nil
}
