package statusevents

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
)

// Reasons of events that are not reasons of a condition or a transition.
const (
	// EventRolloutAbandoned reports that a generation was abandoned for a newer one before it served.
	EventRolloutAbandoned = "RolloutAbandoned"
	// EventDrainCheckRecovered reports that the drain check succeeds again.
	EventDrainCheckRecovered = "DrainCheckRecovered"
	// EventExternalFinalizer (Warning) reports that foreign finalizers hold the children of a deleted engine, or its
	// deleted cluster Service.
	EventExternalFinalizer = "ExternalFinalizerOnOwnedResource"
	// EventFieldsIgnored (Warning) reports that the templates set fields without effect.
	EventFieldsIgnored = "FieldsIgnored"
)

// phaseReasons are the reasons of Ready=False that the phase events cover. Each other one emits an event when it begins.
var phaseReasons = []string{v1alpha1.ReasonInitializing, v1alpha1.ReasonStopped, v1alpha1.ReasonRolling, v1alpha1.ReasonPodsNotReady}

// warnings are the reasons of transitions that need attention.
var warnings = []string{
	v1alpha1.ReasonDrainTimeoutExceeded, engine.ReasonStatefulSetMissing, engine.ReasonActiveMissing, engine.ReasonInconsistent,
	engine.ReasonUnknownPhase, engine.ReasonRolledBack,
}

// Engine returns the events of one status write.
func Engine(before, after *v1alpha1.FireboltEngine) []Event {
	prev, cur := before.Status, after.Status
	var out list
	n := Diff(prev, cur)
	if n.Moved {
		out.add(slices.Contains(warnings, n.Entry.Reason), reason(n), "%s", transitionNote(n, cur))
	} else if n.Outcome == Abandoned {
		out.normal(EventRolloutAbandoned, "Generation %d was abandoned%s before it served; the rollout of generation %d started.",
			n.Generation, formatDuration(n.Since, at(cur.RolloutStartedAt)), cur.CurrentGeneration)
	}
	if c, ok := becameTrue(prev.Conditions, cur.Conditions, v1alpha1.ConditionRolloutOverdue, metav1.ConditionTrue); ok {
		out.warning(c.Reason, c.Message)
	}
	if c, ok := becameTrue(prev.Conditions, cur.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse); ok && !slices.Contains(phaseReasons, c.Reason) {
		reason := c.Reason
		if reason == v1alpha1.ReasonExternalFinalizer {
			reason = EventExternalFinalizer
		}
		out.warning(reason, c.Message)
	}
	if text := unused(cur); text != "" && text != unused(prev) {
		out.warning(EventFieldsIgnored, text)
	}
	if recovered(n, prev, cur) {
		out.normal(EventDrainCheckRecovered, "The drain check of generation %d succeeds again.", draining(prev))
	}
	return out
}

// unused returns the fields without effect that the message of Ready names.
func unused(s v1alpha1.FireboltEngineStatus) string {
	c := find(s.Conditions, v1alpha1.ConditionReady)
	if _, text, ok := strings.Cut(c.Message, ". spec."); ok && c.Status == metav1.ConditionTrue {
		return "spec." + text
	}
	return ""
}

// reason returns the reason of a transition; one without a reason still emits an event.
func reason(n Change) string { return orElse(n.Entry.Reason, reasonPhaseChanged) }

// transitionNote returns the message of a phase change, including the outcome of the rollout.
func transitionNote(n Change, cur v1alpha1.FireboltEngineStatus) string {
	text := fmt.Sprintf("Phase %s, was %s, generation %d.", orElse(n.To, "none"), orElse(n.From, "none"), cur.CurrentGeneration)
	if n.Entry.Message != "" {
		text += " " + n.Entry.Message
	}
	duration := formatDuration(n.Since, n.Entry.Time.Time)
	switch n.Outcome {
	case Completed:
		text += fmt.Sprintf(" The rollout of generation %d is complete%s.", n.Generation, duration)
	case RolledBack:
		text += fmt.Sprintf(" The rollout of generation %d was rolled back%s.", n.Generation, duration)
	case Reverted:
		text += fmt.Sprintf(" The rollout of generation %d was reverted%s.", n.Generation, duration)
	case Abandoned:
		text += fmt.Sprintf(" The rollout of generation %d was abandoned%s.", n.Generation, duration)
	}
	if n.Started {
		text += fmt.Sprintf(" The rollout of generation %d begins.", cur.CurrentGeneration)
	}
	return text
}

// recovered reports whether the drain check succeeds again. A failing check that is skipped, or
// whose timeout expired, has not recovered; if another reason hides it, its state is unknown.
func recovered(n Change, prev, cur v1alpha1.FireboltEngineStatus) bool {
	if find(prev.Conditions, v1alpha1.ConditionReady).Reason != v1alpha1.ReasonDrainCheckFailing {
		return false
	}
	if n.Moved {
		return n.Drain == Drained
	}
	return find(cur.Conditions, v1alpha1.ConditionReady).Reason == v1alpha1.ReasonRolling
}

func draining(s v1alpha1.FireboltEngineStatus) int64 {
	if s.DrainingGeneration == nil {
		return s.ActiveGeneration
	}
	return *s.DrainingGeneration
}

func at(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
