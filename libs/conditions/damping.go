package conditions

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// damp computes the published Degraded from the findings. It returns the time at which
// the condition may change without a change of the input.
func (e *evaluation) damp(now time.Time) (outcome, time.Time) {
	e.state.dropExpiredFlaps(now, e.observedGeneration(TypeDegraded))
	if len(e.findings) > 0 {
		return e.dampDegraded(now)
	}
	return e.dampRecovered(now)
}

// dampDegraded sets Degraded to True at the end of the shortest hold-down of the findings.
func (e *evaluation) dampDegraded(now time.Time) (outcome, time.Time) {
	m := &e.state
	m.recordOnset(now, e.findings[0].reason, e.observedGeneration(TypeDegraded))
	if !m.Degraded {
		if due := m.BadSince.Add(e.hold()); now.Before(due) {
			return e.notDegraded(), due
		}
		m.degrade(now)
	}
	if due := m.BadSince.Add(MissingReplicasHold); m.Flaps.flapping() && now.Before(due) {
		return e.flapping(), due
	}
	return e.degraded(), time.Time{}
}

// hold returns the shortest hold-down of the findings.
func (e *evaluation) hold() time.Duration {
	return slices.MinFunc(e.findings, func(a, b finding) int { return cmp.Compare(a.hold, b.hold) }).hold
}

// dampRecovered sets Degraded to False after the recovery hold-down.
func (e *evaluation) dampRecovered(now time.Time) (outcome, time.Time) {
	m := &e.state
	m.recordClear(now)
	if !m.Degraded {
		return e.notDegraded(), time.Time{}
	}
	hold := RecoveryHold
	if m.Flaps.flapping() {
		hold = FlapWindow
	}
	if due := m.GoodSince.Add(hold); now.Before(due) {
		if m.Flaps.flapping() {
			return e.flapping(), due
		}
		return e.degraded(), due
	}
	m.recover(now, e.observedGeneration(TypeDegraded))
	return e.notDegraded(), time.Time{}
}

// dropExpiredFlaps drops expired evidence of flapping: counts of another generation, an old
// recovery, and the count of a failure that has become continuous.
func (m *State) dropExpiredFlaps(now time.Time, generation int64) {
	if m.Flaps.Generation != generation {
		m.Flaps = Flaps{}
	}
	if over := m.Flaps.ClearedAt; over != nil && !now.Before(over.Add(FlapWindow)) {
		m.Flaps.ClearedAt = nil
	}
	if m.Degraded && m.BadSince != nil && !now.Before(m.BadSince.Add(FlapWindow)) {
		m.Flaps.Count = 0
	}
}

// recordOnset records a finding, and counts an onset if there was none before. A clock that
// was set back only restarts the hold-down.
func (m *State) recordOnset(now time.Time, cause string, generation int64) {
	ongoing := m.GoodSince == nil && (m.Degraded || m.BadSince != nil)
	if !ongoing {
		remaining := m.remaining(now)
		returned := m.Degraded || remaining > 0 || m.Flaps.ClearedAt != nil
		m.Flaps = m.Flaps.count(cause, generation, returned)
		onset := now.Add(-remaining)
		m.BadSince, m.GoodSince = &onset, nil
	}
	if m.BadSince == nil || m.BadSince.After(now) {
		m.BadSince = &now
	}
}

// recordClear records that there is no finding.
func (m *State) recordClear(now time.Time) {
	if m.GoodSince == nil || m.GoodSince.After(now) {
		m.GoodSince = &now
	}
	switch {
	case m.Degraded:
		m.BadSince = nil
	case m.remaining(now) == 0: // cleared within the hold-down
		m.BadSince, m.GoodSince = nil, nil
		if m.Flaps.ClearedAt == nil {
			m.Flaps = Flaps{}
		}
	}
}

// remaining returns how much of the hold-down remains filled after a time without findings.
func (m *State) remaining(now time.Time) time.Duration {
	if m.BadSince == nil || m.GoodSince == nil {
		return 0
	}
	filled := min(m.GoodSince.Sub(*m.BadSince), MissingReplicasHold)
	cleared := max(0, now.Sub(*m.GoodSince))
	return max(0, filled-cleared/FlapLeak)
}

func (m *State) degrade(now time.Time) {
	m.Degraded = true
	if m.Flaps.ClearedAt != nil {
		m.Flaps.Count, m.Flaps.ClearedAt = FlapCount, nil
	}
	if m.Flaps.flapping() {
		m.BadSince = &now // the earlier failure was not continuous
	}
}

func (m *State) recover(now time.Time, generation int64) {
	m.Degraded, m.GoodSince = false, nil
	m.Flaps.Generation, m.Flaps.Count, m.Flaps.ClearedAt = generation, 0, &now
}

// count adds one onset. Only the return of the same failure is flapping; a different
// cause resets the count.
func (f Flaps) count(cause string, generation int64, returned bool) Flaps {
	if !returned || (f.Cause != "" && f.Cause != cause) {
		return Flaps{Cause: cause, Generation: generation}
	}
	f.Cause, f.Generation, f.Count = cause, generation, min(f.Count+1, FlapCount)
	return f
}

func (f Flaps) flapping() bool { return f.Count >= FlapCount }

func (e *evaluation) degraded() outcome {
	if len(e.findings) == 0 {
		return outcome{metav1.ConditionTrue, ReasonRecovering, "The failure has cleared; waiting for the recovery hold-down."}
	}
	return outcome{metav1.ConditionTrue, e.findings[0].reason, e.findings[0].message}
}

// flapping returns one outcome for the whole time in which a failure flaps, so that no
// transition is published for each onset; the evidence has the current findings.
func (e *evaluation) flapping() outcome {
	o := outcome{metav1.ConditionTrue, ReasonFlapping, "The failure is flapping."}
	switch {
	case e.published.Reason == ReasonFlapping:
		o.message = e.published.Message
	case len(e.findings) > 0:
		o.message = "Flapping: " + e.findings[0].message
	}
	return o
}

// notDegraded returns the outcome for an object without findings, or with findings within
// the hold-down. Degraded is False only for a spec that was applied or is paused: False
// for a spec that was never applied would end a `kubectl wait` too early.
func (e *evaluation) notDegraded() outcome {
	switch {
	case e.appliedGeneration() == 0 && !e.o.Intent.Paused:
		return outcome{metav1.ConditionUnknown, ReasonSpecNotObserved, "The spec is not applied to all workloads yet."}
	case len(e.findings) > 0:
		return outcome{metav1.ConditionFalse, ReasonWithinTolerance, e.findings[0].message}
	case e.appliedGeneration() == 0:
		return outcome{metav1.ConditionFalse, ReasonReconciliationPaused, "Reconciliation was paused" + by(e.o.Intent.PausedBy) + " before the spec was applied."}
	case e.o.Intent.Stopped && !e.o.Intent.Paused:
		return outcome{metav1.ConditionFalse, ReasonStopped, "The object is stopped on request" + by(e.o.Intent.StoppedBy) + "."}
	default:
		return outcome{metav1.ConditionFalse, ReasonAsExpected, "No failure is detected."}
	}
}
