package conditions

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// damp computes the published Degraded from the findings. It returns the time at which
// the condition may change although no input does.
func (v *view) damp(now time.Time) (verdict, time.Time) {
	v.memory.forget(now, v.observedGeneration(TypeDegraded))
	if len(v.findings) > 0 {
		return v.dampTrouble(now)
	}
	return v.dampCalm(now)
}

// dampTrouble sets Degraded to True at once, or after the hold-down if all failures are transient.
func (v *view) dampTrouble(now time.Time) (verdict, time.Time) {
	m := &v.memory
	m.comes(now, v.findings[0].reason, v.observedGeneration(TypeDegraded))
	due := m.BadSince.Add(MissingReplicasHold)
	if !m.Degraded {
		sudden := slices.ContainsFunc(v.findings, func(f finding) bool { return !f.held })
		if !sudden && now.Before(due) {
			return v.notDegraded(), due
		}
		m.degrade(now)
		due = m.BadSince.Add(MissingReplicasHold)
	}
	if m.Flaps.flapping() && now.Before(due) {
		return v.flapping(), due
	}
	return v.degraded(), time.Time{}
}

// dampCalm sets Degraded to False after the recovery hold-down.
func (v *view) dampCalm(now time.Time) (verdict, time.Time) {
	m := &v.memory
	m.goes(now)
	if !m.Degraded {
		return v.notDegraded(), time.Time{}
	}
	hold := RecoveryHold
	if m.Flaps.flapping() {
		hold = FlapWindow
	}
	if due := m.GoodSince.Add(hold); now.Before(due) {
		if m.Flaps.flapping() {
			return v.flapping(), due
		}
		return v.degraded(), due
	}
	m.recover(now, v.observedGeneration(TypeDegraded))
	return v.notDegraded(), time.Time{}
}

// forget drops expired evidence of flapping: counts of another generation, an old
// recovery, and the count of a failure that has become continuous.
func (m *State) forget(now time.Time, generation int64) {
	if m.Flaps.Generation != generation {
		m.Flaps = Flaps{}
	}
	if over := m.Flaps.Over; over != nil && !now.Before(over.Add(FlapWindow)) {
		m.Flaps.Over = nil
	}
	if m.Degraded && m.BadSince != nil && !now.Before(m.BadSince.Add(FlapWindow)) {
		m.Flaps.Count = 0
	}
}

// comes records a finding, and counts an onset if there was none before. A clock that
// was set back only restarts the hold-down.
func (m *State) comes(now time.Time, cause string, generation int64) {
	lasts := m.GoodSince == nil && (m.Degraded || m.BadSince != nil)
	if !lasts {
		left := m.left(now)
		back := m.Degraded || left > 0 || m.Flaps.Over != nil
		m.Flaps = m.Flaps.count(cause, generation, back)
		onset := now.Add(-left)
		m.BadSince, m.GoodSince = &onset, nil
	}
	if m.BadSince == nil || m.BadSince.After(now) {
		m.BadSince = &now
	}
}

// goes records that there is no finding.
func (m *State) goes(now time.Time) {
	if m.GoodSince == nil || m.GoodSince.After(now) {
		m.GoodSince = &now
	}
	switch {
	case m.Degraded:
		m.BadSince = nil
	case m.left(now) == 0: // cleared within the hold-down
		m.BadSince, m.GoodSince = nil, nil
		if m.Flaps.Over == nil {
			m.Flaps = Flaps{}
		}
	}
}

// left returns how much of the hold-down remains filled after a time without findings.
func (m *State) left(now time.Time) time.Duration {
	if m.BadSince == nil || m.GoodSince == nil {
		return 0
	}
	filled := min(m.GoodSince.Sub(*m.BadSince), MissingReplicasHold)
	calm := max(0, now.Sub(*m.GoodSince))
	return max(0, filled-calm/FlapLeak)
}

func (m *State) degrade(now time.Time) {
	m.Degraded = true
	if m.Flaps.Over != nil {
		m.Flaps.Count, m.Flaps.Over = FlapCount, nil
	}
	if m.Flaps.flapping() {
		m.BadSince = &now // the earlier failure was not continuous
	}
}

func (m *State) recover(now time.Time, generation int64) {
	m.Degraded, m.GoodSince = false, nil
	m.Flaps.Generation, m.Flaps.Count, m.Flaps.Over = generation, 0, &now
}

// count adds one onset. Only the return of the same failure is flapping; a different
// cause resets the count.
func (f Flaps) count(cause string, generation int64, back bool) Flaps {
	if !back || (f.Cause != "" && f.Cause != cause) {
		return Flaps{Cause: cause, Generation: generation}
	}
	f.Cause, f.Generation, f.Count = cause, generation, min(f.Count+1, FlapCount)
	return f
}

func (f Flaps) flapping() bool { return f.Count >= FlapCount }

func (v *view) degraded() verdict {
	if len(v.findings) == 0 {
		return verdict{metav1.ConditionTrue, ReasonRecovering, "The failure has cleared; waiting for the recovery hold-down."}
	}
	return verdict{metav1.ConditionTrue, v.findings[0].reason, v.findings[0].message}
}

// flapping returns one outcome for the whole time in which a failure flaps, so that no
// transition is published for each onset; the evidence has the current findings.
func (v *view) flapping() verdict {
	says := verdict{metav1.ConditionTrue, ReasonFlapping, "The failure is flapping."}
	switch {
	case v.told.Reason == ReasonFlapping:
		says.message = v.told.Message
	case len(v.findings) > 0:
		says.message = "Flapping: " + v.findings[0].message
	}
	return says
}

// notDegraded returns the outcome for an object without findings, or with findings within
// the hold-down. Degraded is False only for a spec that was applied or is paused: False
// for a spec that was never applied would end a `kubectl wait` too early.
func (v *view) notDegraded() verdict {
	switch {
	case v.covered() == 0 && !v.o.Intent.Paused:
		return verdict{metav1.ConditionUnknown, ReasonSpecNotObserved, "The spec is not applied to all workloads yet."}
	case len(v.findings) > 0:
		return verdict{metav1.ConditionFalse, ReasonWithinTolerance, v.findings[0].message}
	case v.covered() == 0:
		return verdict{metav1.ConditionFalse, ReasonReconciliationPaused, "Paused" + by(v.o.Intent.PausedBy) + " before the spec was applied."}
	case v.o.Intent.Stopped && !v.o.Intent.Paused:
		return verdict{metav1.ConditionFalse, ReasonStopped, "Stopped on request" + by(v.o.Intent.StoppedBy) + "."}
	default:
		return verdict{metav1.ConditionFalse, ReasonAsExpected, "No failure is detected."}
	}
}
