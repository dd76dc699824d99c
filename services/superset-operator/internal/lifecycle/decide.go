package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

// Decide decides the next action of each task.
func Decide(in Input) Decision {
	d := newDecider(in)
	d.adopt()
	d.compareImages()
	if d.scheduleValid() && d.mayStart() {
		d.run()
	}
	d.finish()
	return d.out
}

// decider is the state of one call of [Decide].
type decider struct {
	in Input
	// previous is the persisted state, never nil and never changed; status is the new one.
	previous, status *v1alpha1.LifecycleStatus
	out              Decision
}

func newDecider(in Input) *decider {
	if in.Disabled {
		in.Steps = nil
	}
	d := &decider{in: in, previous: in.Status, status: in.Status.DeepCopy()}
	if d.previous == nil {
		d.previous, d.status = &v1alpha1.LifecycleStatus{}, &v1alpha1.LifecycleStatus{}
	}
	d.out = Decision{
		Status: d.status, Mode: Wait, LastImage: in.LastImage, Image: in.Image, Initial: in.LastImage == "",
	}
	return d
}

// run advances the tasks, one after the other.
func (d *decider) run() {
	d.pruneTasks()
	current := d.prepare()
	if !d.deleteOtherJobs(current) {
		return
	}
	for ; current < len(d.in.Steps); current++ {
		step := &d.in.Steps[current]
		if d.entry(step).State != v1alpha1.TaskComplete && !d.advance(step) {
			d.markWaiting(current)
			return
		}
		if d.preflightPending() {
			current = -1
		}
	}
	d.finishSequence()
}

// markWaiting marks the incomplete tasks after the current one as waiting.
func (d *decider) markWaiting(current int) {
	for i := current + 1; i < len(d.in.Steps); i++ {
		if step := &d.in.Steps[i]; d.entry(step).State != v1alpha1.TaskComplete {
			d.setTaskCondition(step, metav1.ConditionFalse, v1alpha1.ReasonTaskWaiting, fmt.Sprintf("Waiting for task %s.", d.in.Steps[current].Kind.Slug))
		}
	}
}

// deleteOtherJobs deletes all active Jobs except that of the current task, and reports whether none exists anymore:
// two tasks must not overlap, nor may a task and starting components. The pod of a deleted Job counts as a task for
// components that start after a drain; [decider.startAttempt] checks it for tasks.
func (d *decider) deleteOtherJobs(current int) bool {
	var next *Step
	if current < len(d.in.Steps) {
		next = &d.in.Steps[current]
	}
	slug := d.deleteActiveJobs(next)
	message := fmt.Sprintf("Waiting for the deletion of the Job of task %s.", slug)
	switch {
	case slug != "":
	case next == nil && d.status.MetastoreChanged && len(d.in.FormerPods) > 0:
		message = d.formerPodsMessage()
	default:
		return true
	}
	if next == nil {
		d.status.Phase = v1alpha1.LifecycleRestoring
		d.setWaiting(v1alpha1.ReasonTaskWaiting, message)
		return false
	}
	d.setPhase(next.Kind.Phase)
	d.keepDraining()
	d.setConditions(next, v1alpha1.ReasonTaskWaiting, message)
	d.markWaiting(current)
	return false
}

// deleteActiveJobs deletes all active Jobs except that of one task, and returns the name of a task whose Job still
// exists; empty if none does.
func (d *decider) deleteActiveJobs(except *Step) (slug string) {
	for _, kind := range resolve.TaskKinds() {
		job, exists := d.in.Jobs[kind.Slug]
		if !exists || job.State != JobActive || except != nil && except.Kind.Type == kind.Type || d.recorded(kind, job) {
			continue
		}
		d.deleteJob(kind.Slug, job)
		slug = kind.Slug
	}
	return slug
}

// finish completes the decision: maintenance page, drain, downtime, approvals, events and requeue.
func (d *decider) finish() {
	d.endMaintenance()
	d.recordDowntime()
	d.out.Page = d.out.Page || d.status.MaintenanceActive
	d.out.ScaleUp = d.scaleUp()
	d.out.Drained = d.out.Mode != Apply && (d.componentsRemoved() || d.out.Drain && d.in.Components)
	change := d.out.Upgrading && d.out.Mode != Apply
	d.out.ClearApprovals = !change && (d.in.Gate.Approval != "" || d.in.Gate.DowngradeApproval != "")
	d.recordSequence()
	d.scheduleNext()
}

// recordSequence adds the event that the tasks started, before all events that follow from it, or that they are
// complete.
func (d *decider) recordSequence() {
	completed := d.status.Phase == v1alpha1.LifecycleComplete || d.status.Phase == v1alpha1.LifecycleRestoring
	if completed && started(d.previous) {
		d.normal(statusevents.EventLifecycleComplete, "Lifecycle tasks are complete for image %s.", d.in.Image)
	}
	alreadyStarted := started(d.previous) && approvalToken(d.previous.Upgrade) == approvalToken(d.status.Upgrade)
	if !started(d.status) || alreadyStarted {
		return
	}
	events := d.out.Events
	d.out.Events = nil
	if d.out.Upgrading {
		d.normal(statusevents.EventUpgradeStarted, "The image changes from %s to %s.", d.out.From, d.in.Image)
	} else {
		d.normal(statusevents.EventLifecycleStarted, "Lifecycle tasks started for image %s.", d.in.Image)
	}
	d.out.Events = append(d.out.Events, events...)
}

// started reports whether the tasks have started and are not complete. Their phase may be Blocked, as after a permanent
// failure. A change that waits for its approval has not started.
func started(status *v1alpha1.LifecycleStatus) bool {
	if status.Phase != v1alpha1.LifecycleBlocked || unapprovedDowngrade(status.Upgrade) {
		return running(status.Phase)
	}
	return anyEntry(status, func(entry *v1alpha1.TaskRefStatus) bool {
		return blocks(entry) || entry.State == v1alpha1.TaskFailed || entry.State == v1alpha1.TaskRunning ||
			entry.State == v1alpha1.TaskPending && entry.Attempts > 0
	})
}

// running reports whether a task, or the drain before it, is in progress in this phase.
func running(phase v1alpha1.LifecyclePhase) bool {
	switch phase {
	case v1alpha1.LifecycleChecking, v1alpha1.LifecycleCloning, v1alpha1.LifecycleDraining, v1alpha1.LifecycleMigrating,
		v1alpha1.LifecycleRotating, v1alpha1.LifecycleInitializing:
		return true
	default:
		return false
	}
}

// blocks reports whether a task blocks the sequence: it failed permanently, or a foreign object prevents its start.
func blocks(entry *v1alpha1.TaskRefStatus) bool {
	reason := completeReason(entry)
	return reason == v1alpha1.ReasonTaskFailed || reason == v1alpha1.ReasonNotOwned
}

// completeReason returns the reason of the condition TaskComplete; empty if there is none.
func completeReason(entry *v1alpha1.TaskRefStatus) string {
	if c := meta.FindStatusCondition(entry.Conditions, v1alpha1.ConditionTaskComplete); c != nil {
		return c.Reason
	}
	return ""
}

func anyEntry(status *v1alpha1.LifecycleStatus, check func(*v1alpha1.TaskRefStatus) bool) bool {
	return slices.ContainsFunc(resolve.TaskKinds(), func(kind resolve.TaskKind) bool {
		entry := *kind.StatusRef(status)
		return entry != nil && check(entry)
	})
}

// setPhase sets the lifecycle phase of a task. While the Superset is stopped no task starts, so the phase must not show
// that one has started.
func (d *decider) setPhase(phase v1alpha1.LifecyclePhase) {
	gated := d.previous.Phase == v1alpha1.LifecycleAwaitingApproval || d.previous.Phase == v1alpha1.LifecycleBlocked
	if !d.in.Stopped || running(d.previous.Phase) || gated {
		d.status.Phase = phase
	}
}

// allowHold sets the mode Hold if running components may follow the spec. In this mode they get all settings except
// another image, so it requires verified secret keys and, once tasks may start, verified other settings.
func (d *decider) allowHold() {
	if d.settingsVerified() {
		d.allowHoldBeforeTasks()
	}
}

// allowHoldBeforeTasks is allowHold without the check of the other settings, for changes whose tasks may not start:
// an approval may take weeks, and meanwhile the configuration follows the spec.
func (d *decider) allowHoldBeforeTasks() {
	if !d.keysVerified() {
		return
	}
	for _, job := range d.in.Jobs {
		if job.State == JobActive {
			return
		}
	}
	if !d.componentsRemoved() {
		d.out.Mode = Hold
	}
}

// componentsRemoved reports whether the components were removed. Idle Deployments count as removed while the metastore
// differs from the one that the components last ran with.
func (d *decider) componentsRemoved() bool {
	return d.in.Components && !d.out.Initial && d.in.Workloads.absent() && (!d.in.Workloads.Exist || d.drainPending())
}

// drainPending reports whether a task that requires a drain has started and not all tasks are complete, regardless of
// the current spec. Statuses of earlier releases show it only by the tasks that are enabled.
func (d *decider) drainPending() bool {
	if d.status.MetastoreChanged {
		return true
	}
	for i := range d.in.Steps {
		step := &d.in.Steps[i]
		if !step.RequiresDrain {
			continue
		}
		last := d.status.LastCompletedChecksums[step.Kind.Type]
		if entry := d.entry(step); entry == nil || last == "" || entry.CompletedChecksum != last {
			return true
		}
	}
	return false
}

// requeueAt requeues the Superset at the given time, or at an earlier one; immediately if it has passed.
func (d *decider) requeueAt(at time.Time) {
	if at.Before(d.in.Now) {
		at = d.in.Now
	}
	if d.out.Next.IsZero() || at.Before(d.out.Next) {
		d.out.Next = at
	}
}

// now returns the current time with the precision of the status.
func (d *decider) now() *metav1.Time { return &metav1.Time{Time: d.in.Now.Truncate(time.Second)} }

// deleteJob deletes a Job unless it is terminating.
func (d *decider) deleteJob(task string, job Job) {
	if !job.Deleting {
		d.out.Actions = append(d.out.Actions, Action{Verb: Delete, Task: task, UID: job.UID})
	}
}

func (d *decider) setCondition(status metav1.ConditionStatus, reason, message string) {
	d.out.Condition = metav1.Condition{
		Type: v1alpha1.ConditionLifecycleComplete, Status: status, Reason: reason, Message: message,
	}
}

func (d *decider) setWaiting(reason, message string) {
	d.setCondition(metav1.ConditionFalse, reason, message)
}

func (d *decider) normal(reason, format string, args ...any) { d.event(false, reason, format, args...) }

func (d *decider) warning(reason, format string, args ...any) { d.event(true, reason, format, args...) }

func (d *decider) event(warning bool, reason, format string, args ...any) {
	d.out.Events = append(d.out.Events, statusevents.Event{Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// sentence ends a text with a period.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }
