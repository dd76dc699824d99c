package lifecycle

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

func (d *decider) entry(step *Step) *v1alpha1.TaskRefStatus { return *step.Kind.StatusRef(d.status) }

func (d *decider) enabled(kind resolve.TaskKind) bool {
	for i := range d.in.Steps {
		if d.in.Steps[i].Kind.Type == kind.Type {
			return true
		}
	}
	return false
}

// pruneTasks removes the status of tasks that are not enabled and deletes their finished Jobs. Their completion is
// kept, so that enabling one again runs nothing. While a Job is active its status stays, since the Job may complete
// before it is deleted.
func (d *decider) pruneTasks() {
	for _, kind := range resolve.TaskKinds() {
		job, exists := d.in.Jobs[kind.Slug]
		if d.enabled(kind) || exists && job.State == JobActive {
			continue
		}
		if exists {
			d.deleteJob(kind.Slug, job)
		}
		at := kind.StatusRef(d.status)
		if entry := *at; entry != nil {
			d.recordCompletion(kind, entry)
			switch {
			case entry.CompletedChecksum != "":
				d.keepChecksum(kind.Type, entry.CompletedChecksum)
			case isPreflight(kind):
				d.clearPreflight()
			}
		}
		*at = nil
	}
}

// recordCompletion stores the completion by a succeeded Job before the status entry changes to another checksum. The
// checksum of a legacy Job does not cover its image.
func (d *decider) recordCompletion(kind resolve.TaskKind, entry *v1alpha1.TaskRefStatus) {
	job, exists := d.in.Jobs[kind.Slug]
	if exists && job.State == JobSucceeded && entry.State == v1alpha1.TaskRunning && currentAttempt(entry, job) &&
		(job.Attempt > 0 || job.Image == entry.Image) {
		entry.CompletedChecksum = entry.DesiredChecksum
		if previous := d.previous.Clone; kind.Type == resolve.Clone.Type && previous != nil {
			d.status.CompletedTick = previous.LastScheduledAt.DeepCopy()
		}
	}
}

// keepChecksum stores a completed checksum by the type of its task. The map is owned by the status.
func (d *decider) keepChecksum(name, checksum string) {
	if d.status.LastCompletedChecksums == nil {
		d.status.LastCompletedChecksums = map[string]string{}
	}
	d.status.LastCompletedChecksums[name] = checksum
}

// Completions reports which tasks are complete.
type Completions struct {
	status  *v1alpha1.LifecycleStatus
	settled bool // all previous tasks are complete with the checksums that the components last ran with
}

// NewCompletions returns the completions of the given state, for [Completions.Complete] on all tasks in order.
func NewCompletions(status *v1alpha1.LifecycleStatus) *Completions {
	return &Completions{status: status, settled: true}
}

// Complete reports whether a task is complete for a checksum: the one of its last run, or the one that the components
// last ran with if that is so for all previous tasks too.
func (c *Completions) Complete(kind resolve.TaskKind, checksum string) bool {
	last := c.status.LastCompletedChecksums[kind.Type]
	c.settled = c.settled && last == checksum
	if entry := *kind.StatusRef(c.status); entry != nil {
		last = entry.CompletedChecksum
	}
	return c.settled || last == checksum
}

// prepare moves all tasks to their desired checksums and returns the index of the first one that is not complete. A
// reverted change runs nothing except a preflight of reverted keys, since a rotation may have changed what it reads.
func (d *decider) prepare() int {
	first, completions := len(d.in.Steps), NewCompletions(d.status)
	for i := range d.in.Steps {
		step := &d.in.Steps[i]
		if isPreflight(step.Kind) {
			continue
		}
		entry := d.ensureEntry(step)
		if completions.Complete(step.Kind, step.Checksum) {
			d.complete(step, entry)
			continue
		}
		first = min(first, i)
		d.setDesired(step, entry)
	}
	if d.preparePreflight(first) || d.jobActive(first) {
		return first
	}
	return 0
}

// ensureEntry returns the status entry of a task, and creates it with the last completion.
func (d *decider) ensureEntry(step *Step) *v1alpha1.TaskRefStatus {
	at := step.Kind.StatusRef(d.status)
	if *at == nil {
		*at = &v1alpha1.TaskRefStatus{CompletedChecksum: d.status.LastCompletedChecksums[step.Kind.Type]}
	}
	entry := *at
	entry.Ref, entry.MaxRetries = "Job/"+step.JobName, step.MaxRetries
	d.setScheduledTime(step, entry)
	return entry
}

// setDesired makes a task pending if its desired checksum changed.
func (d *decider) setDesired(step *Step, entry *v1alpha1.TaskRefStatus) {
	if entry.DesiredChecksum == step.Checksum && entry.State != v1alpha1.TaskComplete {
		return
	}
	d.recordCompletion(step.Kind, entry)
	entry.DesiredChecksum = step.Checksum
	entry.State, entry.Attempts, entry.Image = v1alpha1.TaskPending, 0, step.Image
	clearFailure(entry)
}

// clearFailure clears the failure of the last attempt.
func clearFailure(entry *v1alpha1.TaskRefStatus) {
	entry.NextAttemptAt, entry.Message, entry.ExitCode, entry.LogTail = nil, "", nil, ""
}

// complete marks a task as complete for its checksum.
func (d *decider) complete(step *Step, entry *v1alpha1.TaskRefStatus) {
	clearFailure(entry)
	entry.State, entry.Image = v1alpha1.TaskComplete, step.Image
	entry.DesiredChecksum, entry.CompletedChecksum = step.Checksum, step.Checksum
	if step.Inputs != "" {
		if d.status.CompletedInputs == nil {
			d.status.CompletedInputs = map[string]string{}
		}
		d.status.CompletedInputs[step.Kind.Type] = step.Inputs
		if step.Kind.Type == resolve.Clone.Type {
			d.status.CompletedTick = entry.LastScheduledAt.DeepCopy()
		}
	}
	if isPreflight(step.Kind) {
		d.accept(step)
	}
	d.setTaskCondition(step, metav1.ConditionTrue, v1alpha1.ReasonTaskComplete, "The task is complete.")
}

// clearCompletions clears the completions that a new attempt invalidates: those of its task and of all following ones,
// since the Job may change the database from its start. The checksums that the components last ran with stay, so that a
// change can be reverted, except for a clone, which drops the database. Inputs stay too: they define how other
// checksums are computed, not what the database holds. A preflight only reads, so the other tasks stay complete.
func (d *decider) clearCompletions(step *Step) {
	if isPreflight(step.Kind) {
		d.startPreflight(step)
		return
	}
	if step.Kind.Type == resolve.Clone.Type {
		d.clearTasks()
	}
	after := false
	for i := range d.in.Steps {
		other := &d.in.Steps[i]
		after = after || other.Kind.Type == step.Kind.Type
		if !after {
			continue
		}
		entry := d.entry(other)
		entry.CompletedChecksum = ""
		if other.Kind.Type != step.Kind.Type {
			d.setDesired(other, entry)
		}
	}
}

// finishSequence ends the sequence: every task is complete, and no Job is active.
func (d *decider) finishSequence() {
	if d.out.Upgrading {
		d.normal(statusevents.EventUpgradeCompleted, "The image changed from %s to %s.", d.out.From, d.in.Image)
	}
	d.out.Mode, d.out.LastImage = Apply, d.in.Image
	d.status.Upgrade, d.status.MigratedImage, d.status.MetastoreChanged = nil, "", false
	for i := range d.in.Steps {
		d.keepChecksum(d.in.Steps[i].Kind.Type, d.in.Steps[i].Checksum)
	}
	done := d.previous.Phase == v1alpha1.LifecycleComplete && !d.out.Upgrading && !d.out.Initial
	d.status.Phase = v1alpha1.LifecycleRestoring
	if done || !d.in.Components {
		d.status.Phase = v1alpha1.LifecycleComplete
	}
	switch {
	case d.in.Disabled:
		d.setCondition(metav1.ConditionTrue, v1alpha1.ReasonLifecycleDisabled, "Lifecycle tasks are disabled.")
	case len(d.in.Steps) == 0:
		d.setCondition(metav1.ConditionTrue, v1alpha1.ReasonNoLifecycleTasks, "No lifecycle task is enabled.")
	default:
		d.setCondition(metav1.ConditionTrue, v1alpha1.ReasonLifecycleComplete, "All lifecycle tasks are complete.")
	}
	d.applyRetention()
}

// applyRetention deletes finished Jobs by retention policy. It runs last: their results are stored, and until then
// users can inspect them. The Job of a complete task did not fail, although its sidecars may have.
func (d *decider) applyRetention() {
	for i := range d.in.Steps {
		step := &d.in.Steps[i]
		job, exists := d.in.Jobs[step.Kind.Slug]
		kept := step.Retention == v1alpha1.RetentionRetain ||
			step.Retention != v1alpha1.RetentionDelete && job.State == JobFailed && d.entry(step).CompletedChecksum != job.Checksum
		if exists && !kept {
			d.deleteJob(step.Kind.Slug, job)
		}
	}
}

// setTaskCondition sets the condition of a task. lastTransitionTime changes only with the status.
func (d *decider) setTaskCondition(step *Step, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&d.entry(step).Conditions, metav1.Condition{
		Type: v1alpha1.ConditionTaskComplete, Status: status, Reason: reason, Message: message, LastTransitionTime: *d.now(),
	})
}

// setConditions sets the condition of a task and LifecycleComplete.
func (d *decider) setConditions(step *Step, reason, message string) {
	d.setWaiting(reason, message)
	if reason == v1alpha1.ReasonDraining || reason == v1alpha1.ReasonComponentsDrained {
		reason = v1alpha1.ReasonTaskWaiting
	}
	d.setTaskCondition(step, metav1.ConditionFalse, reason, message)
}
