package lifecycle

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

// FrozenTime returns the scheduled time that the clone's checksum has to keep; nil if the schedule may advance. A
// sequence that has started finishes with its scheduled time, and then runs once more for the latest. One that failed
// permanently does not finish: the next scheduled time starts it again.
func FrozenTime(status *v1alpha1.LifecycleStatus) *time.Time {
	if status == nil || status.Clone == nil || status.Clone.LastScheduledAt == nil || !inProgress(status) {
		return nil
	}
	scheduled := status.Clone.LastScheduledAt.UTC()
	return &scheduled
}

// LastTime returns the scheduled time of the last clone; nil for none. It replaces a removed schedule in the
// checksum, so that neither removing a schedule nor enabling a disabled clone again runs a clone. A clone that is due
// but has not started is not the last one: removing the schedule cancels it.
func LastTime(status *v1alpha1.LifecycleStatus) *time.Time {
	if status == nil {
		return nil
	}
	at := status.CompletedTick
	if status.Clone != nil && (!isDue(status.Clone) || status.CompletedInputs[resolve.Clone.Type] == "") {
		at = status.Clone.LastScheduledAt
	}
	if at == nil {
		return nil
	}
	scheduled := at.UTC()
	return &scheduled
}

// isDue reports whether no attempt of a pending task has started.
func isDue(entry *v1alpha1.TaskRefStatus) bool {
	return entry.State == v1alpha1.TaskPending && entry.Attempts == 0
}

// inProgress reports whether a sequence has started its first attempt and has not ended.
func inProgress(status *v1alpha1.LifecycleStatus) bool {
	var active, waiting, done bool
	for _, kind := range resolve.TaskKinds() {
		entry := *kind.StatusRef(status)
		switch {
		case entry == nil:
		case entry.State == v1alpha1.TaskFailed:
			return false
		case entry.State == v1alpha1.TaskRunning, entry.State == v1alpha1.TaskPending && entry.Attempts > 0:
			active = true
		case entry.State == v1alpha1.TaskPending:
			waiting = true
		case entry.State == v1alpha1.TaskComplete:
			done = done || entry.CompletedChecksum != status.LastCompletedChecksums[kind.Type]
		}
	}
	gated := status.Phase == v1alpha1.LifecycleAwaitingApproval || status.Phase == v1alpha1.LifecycleBlocked
	return active || waiting && done && !gated
}

// scheduled reports whether the clone has a schedule.
func (d *decider) scheduled() bool { return d.in.Schedule != nil && d.enabled(resolve.Clone) }

// scheduleValid reports whether the clone's schedule is valid. If it is not, nothing is decided: without a scheduled
// time the checksums of the tasks are unknown.
func (d *decider) scheduleValid() bool {
	if !d.scheduled() {
		return true
	}
	d.out.Schedule = &metav1.Condition{
		Type: v1alpha1.ConditionScheduleValid, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonSchedulesValid, Message: "The next clone is scheduled.",
	}
	if d.in.Schedule.Err == nil {
		return true
	}
	message := "The cron schedule spec.lifecycle.clone.cronSchedule is invalid: " + sentence(d.in.Schedule.Err.Error()) + " Correct or remove it."
	d.out.Schedule.Status, d.out.Schedule.Reason = metav1.ConditionFalse, v1alpha1.ReasonInvalidCronSchedule
	d.out.Schedule.Message = message
	d.setWaiting(v1alpha1.ReasonInvalidCronSchedule, message)
	// A rejected image change has the phase Blocked too. It is evaluated again later, and dropped until then.
	before := d.previous.Phase == v1alpha1.LifecycleBlocked && !unapprovedDowngrade(d.previous.Upgrade) && !blockedByTask(d.previous)
	if !before {
		d.warning(statusevents.EventInvalidCronSchedule, "%s", message)
	}
	d.unblockTasks()
	if unapprovedDowngrade(d.previous.Upgrade) || !d.out.Upgrading {
		d.status.Upgrade = nil
	}
	d.status.Phase, d.out.Phase = v1alpha1.LifecycleBlocked, v1alpha1.PhaseBlocked
	d.allowHold()
	return false
}

// blockedByTask reports whether the phase is Blocked because of a task, and not because of a gate or an invalid schedule.
func blockedByTask(status *v1alpha1.LifecycleStatus) bool {
	return status.Phase == v1alpha1.LifecycleBlocked && anyEntry(status, blocks)
}

// unblockTasks records that the schedule, and not a task, blocks the sequence.
func (d *decider) unblockTasks() {
	for _, kind := range resolve.TaskKinds() {
		if entry := *kind.StatusRef(d.status); entry != nil && blocks(entry) {
			meta.SetStatusCondition(&entry.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionTaskComplete, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTaskWaiting,
				Message: "Waiting for a valid schedule of the clone.", LastTransitionTime: *d.now(),
			})
		}
	}
}

func unapprovedDowngrade(context *v1alpha1.UpgradeContext) bool {
	return context != nil && context.Direction == v1alpha1.DirectionDowngrade && context.ApprovedAt == nil
}

// setScheduledTime records the scheduled time that a clone runs for. Without a schedule it is that of the last clone.
func (d *decider) setScheduledTime(step *Step, entry *v1alpha1.TaskRefStatus) {
	scheduled, last := d.scheduledTime(step), LastTime(d.previous)
	switch {
	case scheduled != nil:
		entry.LastScheduledAt = scheduled
	case step.Kind.Type != resolve.Clone.Type || d.scheduled():
	case last == nil:
		entry.LastScheduledAt = nil
	default:
		entry.LastScheduledAt = &metav1.Time{Time: *last}
	}
}

// scheduledTime returns the scheduled time that a task runs for; nil for none.
func (d *decider) scheduledTime(step *Step) *metav1.Time {
	if step.Kind.Type != resolve.Clone.Type || !d.scheduled() || d.in.Schedule.Err != nil {
		return nil
	}
	return &metav1.Time{Time: d.in.Schedule.ScheduledTime}
}

// scheduleNext requeues the Superset just after the next scheduled time. It also requeues soon after a sequence that
// kept an older scheduled time has ended, since a newer one may be due.
func (d *decider) scheduleNext() {
	entry := d.status.Clone
	if !d.scheduled() || d.in.Schedule.Err != nil {
		if entry != nil {
			entry.NextScheduleAt = nil
		}
		return
	}
	earliest := d.in.Now.Add(time.Second)
	if at := d.in.Schedule.Next.Add(time.Second); at.After(earliest) {
		d.requeueAt(at)
	} else {
		d.requeueAt(earliest)
	}
	if inProgress(d.previous) && !inProgress(d.status) {
		d.requeueAt(earliest)
	}
	if entry != nil {
		entry.NextScheduleAt = &metav1.Time{Time: d.in.Schedule.Next}
	}
}
