package conditions

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State is the state that [Compute] keeps between two calls for one object. It is
// plain JSON of bounded size, so that it survives a restart; losing it only restarts a
// hold-down, since all else is derived from the previous conditions.
type State struct {
	// UID identifies the incarnation of the object that the State belongs to.
	UID string `json:"uid,omitempty"`
	// Degraded is the damped state; a stale observer hides it but does not change it.
	Degraded bool `json:"degraded,omitempty"`
	// BadSince is since when there has been a finding. Before Degraded is true, a time
	// without any moves it by a part of that time rather than ending it ([FlapLeak]).
	BadSince *time.Time `json:"badSince,omitempty"`
	// GoodSince is since when there has been no finding, as long as that matters.
	GoodSince *time.Time `json:"goodSince,omitempty"`
	// Settled is the newest generation whose rollout was observed as complete; replicas
	// that are missing after that are no longer due to the rollout.
	Settled int64 `json:"settled,omitempty"`
	// LastTransition is the newest transition that [Compute] returned. A later one on the object is
	// from another writer, and this State is stale.
	LastTransition *time.Time `json:"said,omitempty"`
	// Flaps counts the returns of the same failure.
	Flaps Flaps `json:"flaps,omitzero"`
}

// Flaps counts the returns of one failure under one generation of the spec.
type Flaps struct {
	// Cause is the reason of the failure at its onset; empty if unknown.
	Cause string `json:"cause,omitempty"`
	// Generation is the generation of the spec in effect; a change resets the count.
	Generation int64 `json:"generation,omitempty"`
	// Count is the number of returns of the failure, at most [FlapCount].
	Count int `json:"count,omitempty"`
	// ClearedAt is when Degraded last went False; nil if that was before the last [FlapWindow].
	ClearedAt *time.Time `json:"over,omitempty"`
}

// loadState returns the State of this incarnation of the object. If there is none, or
// another writer has overtaken it, loadState derives it from the conditions of the
// object: every writer continues from there.
func loadState(in Input, old map[string]metav1.Condition) State {
	uid := in.Observation.Object.UID
	m := in.Memory
	if m == (State{}) || (m.UID != "" && m.UID != uid) || m.overtaken(old, TypesOf(in.WithReady)) {
		m = restoreState(old)
	}
	m.UID = uid
	return m
}

// restoreState derives a State from the conditions of an object.
func restoreState(old map[string]metav1.Condition) State {
	var m State
	if d := old[TypeDegraded]; d.Status == metav1.ConditionTrue {
		m.Degraded = true
		m.Flaps.Generation = d.ObservedGeneration
		switch d.Reason {
		case ReasonFlapping:
			m.Flaps.Count = FlapCount
		case ReasonRecovering:
		default:
			m.Flaps.Cause = d.Reason
		}
	}
	if rolledOut(old) {
		m.Settled = old[TypeAvailable].ObservedGeneration
	}
	return m
}

// rolledOut reports whether the conditions of an object state that the applied generation was rolled out.
func rolledOut(old map[string]metav1.Condition) bool {
	switch p := old[TypeProgressing]; p.Reason {
	case ReasonAsExpected, ReasonReplicasMissing, ReasonScalingDown:
		stop := old[TypeStopped].Status
		return stop == "" || stop == metav1.ConditionFalse // a rollout follows a stop
	default:
		return pins(p)
	}
}

// pins reports whether Progressing describes a spec that takes no effect, so that the
// generation that was rolled out before stays in effect.
func pins(progressing metav1.Condition) bool {
	reason := progressing.Reason
	return progressing.Status == metav1.ConditionFalse &&
		(reason == ReasonReconciliationPaused || slices.Contains(TerminalReasons(), reason) || slices.Contains(WaitingReasons(), reason))
}

// overtaken reports whether another writer has changed a condition since this State
// was computed. Unknown does not describe the object, and does not count.
func (m State) overtaken(old map[string]metav1.Condition, types []string) bool {
	if m.LastTransition == nil {
		return false
	}
	for _, t := range types {
		c, ok := old[t]
		if ok && c.Status != metav1.ConditionUnknown && c.LastTransitionTime.After(*m.LastTransition) {
			return true
		}
	}
	return false
}

// recordTransitions records the newest transition among the conditions that [Compute] returns.
func (m *State) recordTransitions(out []metav1.Condition) {
	for i := range out {
		if at := out[i].LastTransitionTime.Time; m.LastTransition == nil || at.After(*m.LastTransition) {
			m.LastTransition = &at
		}
	}
}
