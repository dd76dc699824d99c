package lifecycle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// FrozenTick returns the scheduled time that the clone's checksum has to keep; nil if the schedule may advance. A
// sequence that has started finishes with its scheduled time, and then runs once more for the latest. One that failed
// permanently does not finish: the next scheduled time starts it again.
func FrozenTick(status *v1alpha1.LifecycleStatus) *time.Time {
	if status == nil || status.Clone == nil || status.Clone.LastScheduledAt == nil || !inProgress(status) {
		return nil
	}
	tick := status.Clone.LastScheduledAt.UTC()
	return &tick
}

// KeptTick returns the scheduled time of the last clone; nil for none. It replaces a removed schedule in the
// checksum, so that neither removing a schedule nor enabling a disabled clone again runs a clone.
func KeptTick(status *v1alpha1.LifecycleStatus) *time.Time {
	if status == nil {
		return nil
	}
	at := status.CompletedTick
	if status.Clone != nil {
		at = status.Clone.LastScheduledAt
	}
	if at == nil {
		return nil
	}
	tick := at.UTC()
	return &tick
}

// inProgress reports whether a sequence has started its first attempt and has not ended.
func inProgress(status *v1alpha1.LifecycleStatus) bool {
	var active, waiting, done bool
	for _, kind := range resolve.TaskKinds() {
		slot := *kind.Slot(status)
		switch {
		case slot == nil:
		case slot.State == v1alpha1.TaskFailed:
			return false
		case slot.State == v1alpha1.TaskRunning, slot.State == v1alpha1.TaskPending && slot.Attempts > 0:
			active = true
		case slot.State == v1alpha1.TaskPending:
			waiting = true
		case slot.State == v1alpha1.TaskComplete:
			done = done || slot.CompletedChecksum != status.LastCompletedChecksums[kind.Type]
		}
	}
	gated := status.Phase == v1alpha1.LifecycleAwaitingApproval || status.Phase == v1alpha1.LifecycleBlocked
	return active || waiting && done && !gated
}

// scheduled reports whether the clone has a schedule.
func (p *pass) scheduled() bool { return p.in.Schedule != nil && p.enabled(resolve.Clone) }

// readable reports whether the clone's schedule is valid. If it is not, nothing is decided: without a scheduled time
// the checksums of the tasks are unknown.
func (p *pass) readable() bool {
	if !p.scheduled() {
		return true
	}
	p.out.Schedule = &metav1.Condition{
		Type: v1alpha1.ConditionScheduleValid, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonSchedulesValid, Message: "The next clone is scheduled",
	}
	if p.in.Schedule.Err == nil {
		return true
	}
	message := "spec.lifecycle.clone.cronSchedule: " + p.in.Schedule.Err.Error()
	p.out.Schedule.Status, p.out.Schedule.Reason = metav1.ConditionFalse, v1alpha1.ReasonInvalidCronSchedule
	p.out.Schedule.Message = message
	p.waiting(v1alpha1.ReasonInvalidCronSchedule, message)
	// A rejected image change has the phase Blocked too. It is evaluated again later, and dropped until then.
	before := p.was.Phase == v1alpha1.LifecycleBlocked && !refused(p.was.Upgrade)
	if !before {
		p.warning(EventInvalidCronSchedule, "%s", message)
	}
	if refused(p.was.Upgrade) || !p.out.Upgrading {
		p.status.Upgrade = nil
	}
	p.status.Phase, p.out.Phase = v1alpha1.LifecycleBlocked, v1alpha1.PhaseBlocked
	p.hold()
	return false
}

func refused(context *v1alpha1.UpgradeContext) bool {
	return context != nil && context.Direction == v1alpha1.DirectionDowngrade && context.ApprovedAt == nil
}

// tick returns the scheduled time that a task runs for; nil for none.
func (p *pass) tick(step *Step) *metav1.Time {
	if step.Kind.Type != resolve.Clone.Type || !p.scheduled() || p.in.Schedule.Err != nil {
		return nil
	}
	return &metav1.Time{Time: p.in.Schedule.Tick}
}

// wake requeues the Superset just after the next scheduled time. It also requeues soon after a sequence that kept an older
// scheduled time has ended, since a newer one may be due.
func (p *pass) wake() {
	slot := p.status.Clone
	if !p.scheduled() || p.in.Schedule.Err != nil {
		if slot != nil {
			slot.NextScheduleAt = nil
		}
		return
	}
	soon := p.in.Now.Add(time.Second)
	if at := p.in.Schedule.Next.Add(time.Second); at.After(soon) {
		p.next(at)
	} else {
		p.next(soon)
	}
	if inProgress(p.was) && !inProgress(p.status) {
		p.next(soon)
	}
	if slot != nil {
		slot.NextScheduleAt = &metav1.Time{Time: p.in.Schedule.Next}
	}
}
