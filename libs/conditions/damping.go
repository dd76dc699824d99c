package conditions

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// damp turns the findings into the published Degraded and says when that may change by itself.
func (v *view) damp(now time.Time) (verdict, time.Time) {
	v.memory.forget(now, v.observedGeneration(TypeDegraded))
	if len(v.findings) > 0 {
		return v.dampTrouble(now)
	}
	return v.dampCalm(now)
}

// dampTrouble: Degraded goes True at once, or when trouble that may pass has filled its hold-down.
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

// dampCalm: Degraded goes False once trouble has stayed away for long enough.
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

// forget drops what no longer tells of flapping: what another spec did, a recovery
// long ago, and the returns of a trouble that has come to stay.
func (m *Memory) forget(now time.Time, generation int64) {
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

// comes notes that there is trouble, and counts it when it was not there before. A
// clock that was set back only restarts the hold-down.
func (m *Memory) comes(now time.Time, cause string, generation int64) {
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

// goes notes that there is no trouble.
func (m *Memory) goes(now time.Time) {
	if m.GoodSince == nil || m.GoodSince.After(now) {
		m.GoodSince = &now
	}
	switch {
	case m.Degraded:
		m.BadSince = nil
	case m.left(now) == 0: // it never mattered
		m.BadSince, m.GoodSince = nil, nil
		if m.Flaps.Over == nil {
			m.Flaps = Flaps{}
		}
	}
}

// left is how much of the hold-down is still filled after a time without trouble.
func (m *Memory) left(now time.Time) time.Duration {
	if m.BadSince == nil || m.GoodSince == nil {
		return 0
	}
	filled := min(m.GoodSince.Sub(*m.BadSince), MissingReplicasHold)
	calm := max(0, now.Sub(*m.GoodSince))
	return max(0, filled-calm/FlapLeak)
}

func (m *Memory) degrade(now time.Time) {
	m.Degraded = true
	if m.Flaps.Over != nil {
		m.Flaps.Count, m.Flaps.Over = FlapCount, nil
	}
	if m.Flaps.flapping() {
		m.BadSince = &now // what came before had breaks
	}
}

func (m *Memory) recover(now time.Time, generation int64) {
	m.Degraded, m.GoodSince = false, nil
	m.Flaps.Generation, m.Flaps.Count, m.Flaps.Over = generation, 0, &now
}

// count adds one onset. Only the return of the same trouble is flapping; another one
// is news.
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
		return verdict{metav1.ConditionTrue, ReasonRecovering, "The trouble has gone, but not for long enough to call it over."}
	}
	return verdict{metav1.ConditionTrue, v.findings[0].reason, v.findings[0].message}
}

// flapping is one answer for the whole time in which trouble comes and goes, so that
// nobody is told about each turn; the evidence has what there is at the moment.
func (v *view) flapping() verdict {
	says := verdict{metav1.ConditionTrue, ReasonFlapping, "Trouble comes and goes."}
	switch {
	case v.told.Reason == ReasonFlapping:
		says.message = v.told.Message
	case len(v.findings) > 0:
		says.message = "Comes and goes: " + v.findings[0].message
	}
	return says
}

// notDegraded answers for an object without trouble, or with trouble that is still
// too young. It says False only of a spec that was applied once, since a False for
// a spec that nobody has taken up would end a wait too early, and of a paused one.
func (v *view) notDegraded() verdict {
	switch {
	case v.covered() == 0 && !v.o.Intent.Paused:
		return verdict{metav1.ConditionUnknown, ReasonSpecNotObserved, "The spec has not been taken up everywhere yet."}
	case len(v.findings) > 0:
		return verdict{metav1.ConditionFalse, ReasonWithinTolerance, v.findings[0].message}
	case v.covered() == 0:
		return verdict{metav1.ConditionFalse, ReasonReconciliationPaused, "Paused" + by(v.o.Intent.PausedBy) + " before anything was applied."}
	case v.o.Intent.Stopped && !v.o.Intent.Paused:
		return verdict{metav1.ConditionFalse, ReasonStopped, "Stopped on request" + by(v.o.Intent.StoppedBy) + "."}
	default:
		return verdict{metav1.ConditionFalse, ReasonAsExpected, "Nothing is wrong."}
	}
}
