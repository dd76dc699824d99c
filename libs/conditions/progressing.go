package conditions

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// progressingRules read the units of every role.
var progressingRules = []rule{
	goingAway,
	heldByPause,
	newestSpecUnread,
	taskRuns,
	taskHasFailed,
	specCannotWork,
	stopIsUnderWay,
	newestSpecUnapplied,
	unitsMove,
	unitsAreStuck,
	specWaits,
	nothingMoves,
}

func goingAway(v *view) (verdict, bool) {
	if !v.deleting() {
		return pass()
	}
	return yes(ReasonDeleting, "The object is being deleted.")
}

func heldByPause(v *view) (verdict, bool) {
	if !v.o.Intent.Paused || v.specApplied() {
		return pass()
	}
	return no(ReasonReconciliationPaused, "Paused"+by(v.o.Intent.PausedBy)+"; the newest spec is not applied.")
}

func newestSpecUnread(v *view) (verdict, bool) {
	if v.specSeen() {
		return pass()
	}
	return yes(ReasonSpecNotObserved, "The newest spec has not been read yet.")
}

func taskRuns(v *view) (verdict, bool) {
	active := v.activeJobs()
	if len(active) == 0 {
		return pass()
	}
	return yes(ReasonJobRunning, "Waiting for "+list(active)+".")
}

func taskHasFailed(v *view) (verdict, bool) {
	var failed []string
	for _, j := range v.o.Jobs {
		if j.State == contract.JobFailed {
			failed = append(failed, strings.TrimSuffix(jobMessage(j), "."))
		}
	}
	if len(failed) == 0 {
		return pass()
	}
	return no(ReasonJobFailed, sentence(failed))
}

func specCannotWork(v *view) (verdict, bool) {
	if !v.refused() {
		return pass()
	}
	return no(reconcileReason(v.o.Reconcile), reconcileMessage(v.o.Reconcile))
}

func stopIsUnderWay(v *view) (verdict, bool) {
	if !v.o.Intent.Stopped || v.o.Intent.Paused || v.pods() == 0 {
		return pass()
	}
	return yes(ReasonStopping, "Stopping; "+podsLeft(v.pods())+".")
}

func newestSpecUnapplied(v *view) (verdict, bool) {
	if v.specApplied() || v.held() {
		return pass()
	}
	return yes(ReasonSpecNotObserved, "The newest spec has not been taken up everywhere yet.")
}

func unitsMove(v *view) (verdict, bool) {
	var parts []string
	growing, shrinking := false, false
	for _, u := range v.o.Units {
		if !moves(u) || stuck(u) {
			continue
		}
		growing = growing || short(u)
		shrinking = shrinking || !short(u)
		parts = append(parts, movement(u))
	}
	switch {
	case len(parts) == 0:
		return pass()
	case v.rollingOut():
		return yes(ReasonRollingOut, sentence(parts))
	case growing:
		return yes(ReasonReplicasMissing, sentence(parts))
	case shrinking:
		return yes(ReasonScalingDown, sentence(parts))
	}
	return pass()
}

func unitsAreStuck(v *view) (verdict, bool) {
	held := v.units(func(u contract.Unit) bool { return u.Role != contract.Outgoing && stuck(u) })
	if len(held) == 0 {
		return pass()
	}
	return no(ReasonStalled, list(names(held))+" gets no further.")
}

// specWaits: a spec that waits for an approval, or for a rollout slot, does not progress by
// itself. The running version may.
func specWaits(v *view) (verdict, bool) {
	if !v.held() {
		return pass()
	}
	return no(v.o.Reconcile.Reason, orElse(v.o.Reconcile.Message, "The spec waits."))
}

func nothingMoves(*view) (verdict, bool) {
	return no(ReasonAsExpected, "Everything stands as the spec asks.")
}

// moves reports whether a unit has not reached its desired state.
func moves(u contract.Unit) bool {
	if replacing(u) || short(u) {
		return true
	}
	if u.Role == contract.Outgoing {
		return false
	}
	return u.Present && (u.Updated < u.Desired || u.Current > u.Desired || u.Available > u.Desired)
}

// stuck reports whether a unit will not progress by waiting alone.
func stuck(u contract.Unit) bool {
	if u.Stalled {
		return true
	}
	for _, f := range u.Failures {
		if f.Count > 0 && class(f.Class).stalls(u) {
			return true
		}
	}
	return false
}

func movement(u contract.Unit) string {
	switch {
	case u.Role == contract.Outgoing:
		return u.Name + " is going away"
	case u.Role == contract.Incoming:
		return fmt.Sprintf("%s is coming in with %d of %d replicas available", u.Name, count(u, u.Available), u.Desired)
	case short(u):
		return fmt.Sprintf("%s has %d of %d replicas available", u.Name, count(u, u.Available), u.Desired)
	case u.Updated < u.Desired:
		return fmt.Sprintf("%s has %d of %d replicas updated", u.Name, max(0, u.Updated), u.Desired)
	default:
		return fmt.Sprintf("%s has %d replicas and wants %d", u.Name, max(u.Current, u.Available), u.Desired)
	}
}
