package conditions

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// MaxEvidence is the greatest number of findings in [Result.Evidence].
const MaxEvidence = 10

// maxEvidenceBytes is the longest of them.
const maxEvidenceBytes = 1024

// finding is one reason to call an object degraded.
type finding struct {
	rank     int  // the most telling first
	held     bool // counts only once it has lasted for MissingReplicasHold
	reason   string
	message  string // stable: no pod names, no times
	evidence string // the details
}

// Ranks of the findings that do not stem from a failure class; classes have those between.
const (
	rankJobFailed = iota
	rankSpecCannotWork
	rankFirstClass
	rankStalled = rankFirstClass + 100 + iota
	rankReplicas
	rankReconcile
	rankDependency
)

// findings lists what is wrong, whether or not it has lasted long enough.
func findings(v *view) []finding {
	out := slices.Concat(jobFindings(v), reconcileFindings(v), dependencyFindings(v))
	for _, u := range v.o.Units {
		if u.Role == contract.Outgoing {
			continue // it is meant to go
		}
		out = append(out, unitFindings(v, u)...)
	}
	slices.SortFunc(out, func(a, b finding) int {
		return cmp.Or(
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.message, b.message),
			cmp.Compare(a.evidence, b.evidence),
		)
	})
	return out
}

func jobFindings(v *view) []finding {
	var out []finding
	for _, j := range v.o.Jobs {
		if j.State != contract.JobFailed {
			continue
		}
		message := j.Name + " failed, and no retry is left."
		out = append(out, finding{rank: rankJobFailed, reason: ReasonJobFailed, message: message, evidence: detail(message, j.Message)})
	}
	return out
}

// reconcileFindings: an error that may pass is held like missing replicas; one that
// needs another spec is not.
func reconcileFindings(v *view) []finding {
	r := v.o.Reconcile
	if r.Outcome != contract.Failed {
		return nil
	}
	f := finding{rank: rankReconcile, held: true, reason: ReasonReconcileError, message: reconcileMessage(r)}
	if r.Terminal {
		f.rank, f.held = rankSpecCannotWork, false
	}
	f.evidence = f.message
	return []finding{f}
}

func dependencyFindings(v *view) []finding {
	var out []finding
	for _, d := range v.o.Dependencies {
		if d.Ready {
			continue
		}
		message := d.Kind + " " + d.Name + " is not ready."
		out = append(out, finding{
			rank: rankDependency, held: true, reason: ReasonDependencyUnavailable,
			message: message, evidence: detail(message, d.Message),
		})
	}
	return out
}

func unitFindings(v *view, u contract.Unit) []finding {
	var out []finding
	if u.Stalled {
		message := u.Name + " did not finish its roll-out in time."
		out = append(out, finding{rank: rankStalled, reason: ReasonStalled, message: message, evidence: message})
	}
	for _, f := range u.Failures {
		if found, ok := failureFinding(v, u, f); ok {
			out = append(out, found)
		}
	}
	if serves(u) && short(u) && !v.rollingOut() && !v.deleting() {
		message := fmt.Sprintf("%s has %d of %d replicas available.", u.Name, count(u, u.Available), u.Desired)
		out = append(out, finding{
			rank: rankReplicas, held: true, reason: ReasonInsufficientReplicas, message: message, evidence: message,
		})
	}
	return out
}

func failureFinding(v *view, u contract.Unit, f contract.Failure) (finding, bool) {
	c := class(f.Class)
	if f.Count <= 0 || (c.onlyShort && !short(u)) || (c.settledOnly && v.rollingOut()) {
		return finding{}, false
	}
	message := fmt.Sprintf("%s: %s.", u.Name, c.words)
	pods := slices.Sorted(slices.Values(f.Examples))
	return finding{
		rank:     rankFirstClass + c.rank,
		held:     c.held,
		reason:   c.reason,
		message:  message,
		evidence: detail(fmt.Sprintf("%s: %s, %d pods (%s)", u.Name, c.words, f.Count, list(pods)), f.Message),
	}, true
}

// recall returns the memory that belongs to this incarnation of the object. What is
// not remembered is read from the conditions that the object carries.
func recall(in Input, old map[string]metav1.Condition) Memory {
	uid := in.Observation.Object.UID
	m := in.Memory
	if m == (Memory{}) || (m.UID != "" && m.UID != uid) {
		m = Memory{Degraded: old[TypeDegraded].Status == metav1.ConditionTrue}
		switch p := old[TypeProgressing]; p.Reason {
		case ReasonAsExpected, ReasonReplicasMissing, ReasonScalingDown:
			m.Settled = p.ObservedGeneration
		}
	}
	m.UID = uid
	return m
}

// damp turns the findings into the published Degraded and says when that may change by itself.
func (v *view) damp(now time.Time) (verdict, time.Time) {
	lasting := len(v.findings) > 0
	sudden := slices.ContainsFunc(v.findings, func(f finding) bool { return !f.held })

	m := &v.memory
	if m.Degraded {
		m.BadSince = nil
		if lasting {
			m.GoodSince = nil
			return v.degraded(), time.Time{}
		}
		since, due := hold(m.GoodSince, now, RecoveryHold)
		if !due.IsZero() {
			m.GoodSince = &since
			return v.degraded(), due
		}
		m.Degraded, m.GoodSince = false, nil
		return v.notDegraded(), time.Time{}
	}

	m.GoodSince = nil
	if !lasting {
		m.BadSince = nil
		return v.notDegraded(), time.Time{}
	}
	since, due := hold(m.BadSince, now, MissingReplicasHold)
	if sudden || due.IsZero() {
		m.Degraded, m.BadSince = true, nil
		return v.degraded(), time.Time{}
	}
	m.BadSince = &since
	return v.notDegraded(), due
}

// hold says since when something lasts and when the hold-down on it ends; the zero
// time means that it has ended. A clock that was set back restarts it.
func hold(since *time.Time, now time.Time, d time.Duration) (onset, due time.Time) {
	onset = now
	if since != nil && !since.After(now) {
		onset = *since
	}
	if due = onset.Add(d); !now.Before(due) {
		return onset, time.Time{}
	}
	return onset, due
}

func (v *view) degraded() verdict {
	if len(v.findings) == 0 {
		return verdict{metav1.ConditionTrue, ReasonRecovering, "The trouble has gone, but not for long enough to call it over."}
	}
	return verdict{metav1.ConditionTrue, v.findings[0].reason, v.findings[0].message}
}

// notDegraded answers for an object without trouble, or with trouble that is still
// too young. It says False only of a spec that was applied once, since a False for
// a spec that nobody has taken up would end a wait too early.
func (v *view) notDegraded() verdict {
	switch {
	case v.covered() == 0:
		return verdict{metav1.ConditionUnknown, ReasonSpecNotObserved, "The spec has not been taken up everywhere yet."}
	case len(v.findings) > 0:
		return verdict{metav1.ConditionFalse, ReasonWithinTolerance, v.findings[0].message}
	case v.o.Intent.Stopped && !v.o.Intent.Paused:
		return verdict{metav1.ConditionFalse, ReasonStopped, "Stopped on request" + by(v.o.Intent.StoppedBy) + "."}
	default:
		return verdict{metav1.ConditionFalse, ReasonAsExpected, "Nothing is wrong."}
	}
}

func (v *view) evidence() []string {
	var out []string
	for _, f := range v.findings {
		if len(out) == MaxEvidence {
			break
		}
		out = append(out, clamp(f.evidence, maxEvidenceBytes))
	}
	return out
}
