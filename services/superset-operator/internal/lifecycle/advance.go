package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

const (
	resultTimeout  = 3 * time.Second
	resultInterval = 200 * time.Millisecond
)

// advance moves one task forward and reports whether it is complete. If not, it sets the condition, and the following
// tasks wait.
func (d *decider) advance(step *Step) bool {
	entry := d.entry(step)
	job, exists := d.in.Jobs[step.Kind.Slug]
	d.setPhase(step.Kind.Phase)
	switch {
	case entry.State == v1alpha1.TaskFailed && (!exists || job.State != JobActive || d.recorded(step.Kind, job)):
		d.retryGivenUp(step, entry, job, exists)
	case !exists:
		d.startAttempt(step, entry)
	case entry.State == v1alpha1.TaskRunning && currentAttempt(entry, job) && (job.State == JobSucceeded || !job.Deleting):
		return d.evaluate(step, entry, job)
	case job.Deleting:
		d.replaceJob(step, job)
	case entry.State == v1alpha1.TaskPending && job.State == JobFailed:
		d.retry(step, entry, job)
	default:
		d.replaceJob(step, job)
	}
	return false
}

// currentAttempt reports whether a Job is the current attempt, and not one of other inputs or of an abandoned attempt. Jobs
// of the legacy operator have no attempt.
func currentAttempt(entry *v1alpha1.TaskRefStatus, job Job) bool {
	return job.Attempt == 0 || job.Attempt == entry.Attempts && job.Checksum == entry.DesiredChecksum
}

func (d *decider) replaceJob(step *Step, job Job) {
	d.deleteJob(step.Kind.Slug, job)
	d.setConditions(step, v1alpha1.ReasonTaskWaiting, fmt.Sprintf("Waiting for the deletion of the previous Job of task %s.", step.Kind.Slug))
}

// startAttempt starts an attempt, or sets the reason why it has to wait.
func (d *decider) startAttempt(step *Step, entry *v1alpha1.TaskRefStatus) {
	counted := entry.State == v1alpha1.TaskRunning && entry.Attempts > 0
	switch {
	case d.in.Stopped:
		d.waitStopped(step)
		return
	case !counted && entry.Attempts >= step.MaxRetries:
		d.failPermanently(step, entry)
		return
	case !counted && entry.NextAttemptAt != nil && d.in.Now.Before(entry.NextAttemptAt.Time):
		d.waitForRetry(step, entry)
		return
	case len(d.in.FormerPods) > 0:
		d.waitForFormerPods(step)
		return
	case !d.drained(step):
		return
	case counted:
		// Its Job was not created or was deleted by a user: create it without counting it again. The former pod may have
		// failed to start; the new one has not.
		entry.PodSpecHash, entry.Message = step.PodHash, ""
	default:
		d.countAttempt(step, entry)
	}
	d.out.Actions = append(d.out.Actions, Action{Verb: Create, Task: step.Kind.Slug, Attempt: entry.Attempts, Repeated: counted})
	d.inProgress(step, entry)
}

// waitStopped sets the condition of a task that does not start because the Superset is stopped. No component is
// removed for it either.
func (d *decider) waitStopped(step *Step) {
	d.keepDraining()
	reason := v1alpha1.ReasonTaskWaiting
	if d.componentsRemoved() {
		reason = v1alpha1.ReasonComponentsDrained
	}
	d.setConditions(step, reason, fmt.Sprintf("Task %s does not start while the Superset is stopped.", step.Kind.Slug))
	d.allowHold()
}

// keepDraining keeps the phase of a drain while its task waits for something else, so that the drain does not start twice.
func (d *decider) keepDraining() {
	if d.previous.Phase == v1alpha1.LifecycleDraining {
		d.status.Phase = d.previous.Phase
	}
}

// waitForFormerPods sets the condition of a task that does not start because the pod of a deleted Job still runs. Their
// end triggers a reconcile.
func (d *decider) waitForFormerPods(step *Step) {
	d.keepDraining()
	d.setConditions(step, v1alpha1.ReasonTaskWaiting, d.formerPodsMessage())
}

func (d *decider) formerPodsMessage() string {
	pods := d.in.FormerPods
	return fmt.Sprintf("Waiting for the end of pods whose Job was deleted: %s.", strings.Join(pods[:min(len(pods), 3)], ", "))
}

// countAttempt records a new attempt.
func (d *decider) countAttempt(step *Step, entry *v1alpha1.TaskRefStatus) {
	entry.State, entry.Attempts, entry.Image = v1alpha1.TaskRunning, entry.Attempts+1, step.Image
	entry.StartedAt, entry.PodSpecHash = d.now(), step.PodHash
	entry.CompletedAt, entry.NextAttemptAt, entry.Message = nil, nil, ""
	d.status.MetastoreChanged = d.status.MetastoreChanged || step.RequiresDrain
	d.clearCompletions(step)
	d.normal(statusevents.EventTaskStarted, "Attempt %d of %d of task %s started.", entry.Attempts, step.MaxRetries, step.Kind.Slug)
}

// evaluate evaluates the Job of the current attempt.
func (d *decider) evaluate(step *Step, entry *v1alpha1.TaskRefStatus, job Job) bool {
	otherPod := job.PodHash != step.PodHash
	if job.Attempt == 0 {
		otherPod = entry.PodSpecHash != step.PodHash
	}
	if job.Podless && job.StartFailure == "" {
		job.StartFailure = entry.Message // the Job controller deletes the pod before the Job shows that it failed
	}
	// Other Jobs have a checksum that covers the image, and an admission webhook may have rewritten theirs.
	otherImage := job.Attempt == 0 && job.Image != "" && job.Image != step.Image && job.Image != step.ImageInput
	switch {
	case otherImage:
		d.recreateJob(step, entry, job)
		d.normal(statusevents.EventTaskImageChanged, "The Job of task %s is replaced, since it has image %s instead of %s.", step.Kind.Slug, job.Image, step.Image)
	case job.State == JobSucceeded && d.awaitResult(job):
		d.inProgress(step, entry)
	case job.State == JobSucceeded:
		d.succeed(step, entry, job)
		return true
	case job.State == JobFailed:
		d.fail(step, entry, job)
	case job.StartFailure != "" && otherPod:
		d.recreateJob(step, entry, job)
		d.normal(statusevents.EventTaskRecovering, "The pod of task %s is replaced with one that has the new settings.", step.Kind.Slug)
	case job.StartFailure != "":
		d.waitForPod(step, entry, job)
	default:
		entry.Message = ""
		d.inProgress(step, entry)
	}
	return false
}

func (d *decider) inProgress(step *Step, entry *v1alpha1.TaskRefStatus) {
	d.setConditions(step, v1alpha1.ReasonTaskInProgress,
		fmt.Sprintf("Attempt %d of %d of task %s is running.", entry.Attempts, step.MaxRetries, step.Kind.Slug))
}

// recreateJob replaces a Job whose pod did not start; its attempt does not count.
func (d *decider) recreateJob(step *Step, entry *v1alpha1.TaskRefStatus, job Job) {
	entry.State, entry.Attempts, entry.Message = v1alpha1.TaskPending, entry.Attempts-1, ""
	d.replaceJob(step, job)
}

// awaitResult waits up to resultTimeout until the pod of a succeeded Job has terminated: its termination message has
// the counts.
func (d *decider) awaitResult(job Job) bool {
	if !job.ResultPending || job.FinishedAt == nil {
		return false
	}
	deadline := job.FinishedAt.Add(resultTimeout)
	if !d.in.Now.Before(deadline) {
		return false
	}
	d.requeueAt(d.in.Now.Add(resultInterval))
	return true
}

func (d *decider) succeed(step *Step, entry *v1alpha1.TaskRefStatus, job Job) {
	entry.CompletedAt, entry.StoredSecrets = job.FinishedAt, job.StoredSecrets
	d.complete(step, entry)
	d.normal(statusevents.EventTaskSucceeded, "Task %s succeeded in attempt %d of %d%s.",
		step.Kind.Slug, entry.Attempts, step.MaxRetries, countsMessage(step.Kind, job.StoredSecrets))
}

// recorded reports whether the end of exactly this Job is recorded. It is active again if its pod, which only sidecars kept
// running, is gone, until the Job fails or its deletion ends.
func (d *decider) recorded(kind resolve.TaskKind, job Job) bool {
	entry := *kind.StatusRef(d.status)
	if entry == nil || job.Attempt == 0 || entry.Attempts != job.Attempt {
		return false
	}
	switch entry.State {
	case v1alpha1.TaskComplete:
		return entry.CompletedChecksum == job.Checksum
	case v1alpha1.TaskFailed, v1alpha1.TaskPending:
		return entry.DesiredChecksum == job.Checksum
	default:
		return false
	}
}

// countsMessage describes what a task read and changed; empty if it counts nothing.
func countsMessage(kind resolve.TaskKind, s *v1alpha1.StoredSecretsStatus) string {
	switch {
	case s == nil:
		return ""
	case kind.Type == resolve.Rotate.Type:
		return fmt.Sprintf(": encrypted %d of %d stored secrets in %d columns with the new key", s.Reencrypted, s.Values, s.Columns)
	default:
		return fmt.Sprintf(": the keys decrypt all %d stored secrets in %d columns, the previous one %d of them",
			s.Values, s.Columns, s.PreviousKey)
	}
}
