package lifecycle

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

const (
	minBackoff = 10 * time.Second
	maxBackoff = 5 * time.Minute
)

// Backoff returns how long to wait after the given number of failed attempts: 10 s, doubled with each failure, at
// most 5 minutes. It has no jitter: one task of one Superset runs at a time, and the status shows the exact time of
// the next attempt.
func Backoff(failed int32) time.Duration {
	delay := minBackoff
	for i := int32(1); i < failed && delay < maxBackoff; i++ {
		delay *= 2
	}
	return min(delay, maxBackoff)
}

// fail records a failed Job.
func (d *decider) fail(step *Step, entry *v1alpha1.TaskRefStatus, job Job) {
	cause := job.Message
	if entry.Message != "" && job.ExitCode == nil {
		cause += "; its pod could not start: " + entry.Message
	}
	entry.Message, entry.ExitCode, entry.LogTail = cause, job.ExitCode, job.LogTail
	if entry.Attempts >= step.MaxRetries {
		d.warning(statusevents.EventTaskFailed, "%s", failureMessage(step, entry))
		d.failPermanently(step, entry)
		// Requeue once the termination message of the pod has had time to arrive: then the Job may be deleted, or
		// another desired pod may recover the task.
		d.requeueAt(d.in.Now.Add(time.Second))
		return
	}
	finished := d.in.Now
	if job.FinishedAt != nil {
		finished = job.FinishedAt.Time
	}
	entry.State = v1alpha1.TaskPending
	entry.NextAttemptAt = &metav1.Time{Time: finished.Add(Backoff(entry.Attempts)).Truncate(time.Second)}
	d.warning(statusevents.EventTaskRetry, "Attempt %d of %d of task %s failed: %s", entry.Attempts, step.MaxRetries, step.Kind.Slug, sentence(cause))
	d.waitForRetry(step, entry)
}

// retry waits for the next attempt and then deletes the failed Job.
func (d *decider) retry(step *Step, entry *v1alpha1.TaskRefStatus, job Job) {
	recordLateOutput(entry, job)
	switch {
	case job.Attempt != entry.Attempts && job.Attempt != 0, entry.Attempts == 0:
		// The task was reset: the former failure does not count.
		d.replaceJob(step, job)
	case entry.Attempts >= step.MaxRetries:
		d.failPermanently(step, entry)
	case entry.NextAttemptAt != nil && d.in.Now.Before(entry.NextAttemptAt.Time):
		d.waitForRetry(step, entry)
	case d.in.Stopped:
		d.waitStopped(step)
	default:
		d.replaceJob(step, job)
	}
}

// recordLateOutput records the exit code and log of the failed pod if they arrive after the failure was recorded.
func recordLateOutput(entry *v1alpha1.TaskRefStatus, job Job) {
	if job.State != JobFailed || job.Attempt != entry.Attempts {
		return
	}
	if entry.ExitCode == nil && job.ExitCode != nil {
		entry.ExitCode, entry.Message = job.ExitCode, job.Message
	}
	if entry.LogTail == "" {
		entry.LogTail = job.LogTail
	}
}

func (d *decider) waitForRetry(step *Step, entry *v1alpha1.TaskRefStatus) {
	d.requeueAt(entry.NextAttemptAt.Time)
	d.setConditions(step, v1alpha1.ReasonTaskRetrying, fmt.Sprintf("Attempt %d of %d of task %s failed and is retried: %s",
		entry.Attempts, step.MaxRetries, step.Kind.Slug, sentence(entry.Message)))
}

// failPermanently marks a task as failed permanently. Running components are kept.
func (d *decider) failPermanently(step *Step, entry *v1alpha1.TaskRefStatus) {
	entry.State, entry.NextAttemptAt = v1alpha1.TaskFailed, nil
	d.setConditions(step, v1alpha1.ReasonTaskFailed, failureMessage(step, entry))
	d.status.Phase = v1alpha1.LifecycleBlocked
	d.allowHold()
}

// failureMessage describes a task without attempts left.
func failureMessage(step *Step, entry *v1alpha1.TaskRefStatus) string {
	attempts := fmt.Sprintf("%d attempts", entry.Attempts)
	if entry.Attempts == 1 {
		attempts = "1 attempt"
	}
	return fmt.Sprintf("Task %s failed permanently after %s: %s", step.Kind.Slug, attempts, sentence(entry.Message))
}

// retryGivenUp handles a task that failed permanently: it is retried only when its pod changes, which may be the cause,
// or when more attempts are allowed. A change of its inputs resets it earlier.
func (d *decider) retryGivenUp(step *Step, entry *v1alpha1.TaskRefStatus, job Job, exists bool) {
	before := entry.PodSpecHash
	if before == "" && exists && job.Attempt > 0 {
		before = job.PodHash
	}
	switch {
	case before != "" && before != step.PodHash:
		entry.Attempts = 0
		clearFailure(entry)
		d.normal(statusevents.EventTaskRecovering, "Task %s is retried with the new settings of its pod.", step.Kind.Slug)
	case entry.Attempts < step.MaxRetries:
	default:
		recordLateOutput(entry, job)
		d.failPermanently(step, entry)
		if exists && step.Retention == v1alpha1.RetentionDelete {
			d.deleteJob(step.Kind.Slug, job)
		}
		return
	}
	entry.State = v1alpha1.TaskPending
	if exists {
		d.replaceJob(step, job)
		return
	}
	d.startAttempt(step, entry)
}

// waitForPod waits for a pod that cannot start; the attempt's deadline still applies.
func (d *decider) waitForPod(step *Step, entry *v1alpha1.TaskRefStatus, job Job) {
	if completeReason(entry) != v1alpha1.ReasonTaskCannotStart {
		d.warning(statusevents.EventTaskCannotStart, "The pod of task %s cannot start: %s", step.Kind.Slug, sentence(job.StartFailure))
	}
	entry.Message = job.StartFailure
	d.setConditions(step, v1alpha1.ReasonTaskCannotStart, fmt.Sprintf("Task %s cannot start: %s", step.Kind.Slug, sentence(job.StartFailure)))
}
