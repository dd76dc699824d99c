package lifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 5 * time.Minute
)

// Backoff returns how long to wait after the given number of failed attempts: 10 s, doubled with each failure, at
// most 5 minutes. It has no jitter: one task of one Superset runs at a time, and the status shows the exact time of
// the next attempt.
func Backoff(failed int32) time.Duration {
	delay := firstBackoff
	for i := int32(1); i < failed && delay < maxBackoff; i++ {
		delay *= 2
	}
	return min(delay, maxBackoff)
}

// fail records a failed Job.
func (p *pass) fail(step *Step, slot *v1alpha1.TaskRefStatus, job Job) {
	slot.Message, slot.ExitCode, slot.LogTail = job.Message, job.ExitCode, job.LogTail
	if slot.Attempts >= step.MaxRetries {
		p.warning(EventTaskFailed, "%s: %s", gaveUp(step, slot), job.Message)
		p.failed(step, slot)
		// After a moment for the termination message of the pod to arrive, the Job may be deleted, or another desired
		// pod may recover the task.
		p.next(p.in.Now.Add(time.Second))
		return
	}
	finished := p.in.Now
	if job.FinishedAt != nil {
		finished = job.FinishedAt.Time
	}
	slot.State = v1alpha1.TaskPending
	slot.NextAttemptAt = &metav1.Time{Time: finished.Add(Backoff(slot.Attempts)).Truncate(time.Second)}
	p.warning(EventTaskRetry, "Task %s failed, attempt %d of %d: %s", step.Kind.Word, slot.Attempts, step.MaxRetries, job.Message)
	p.retrying(step, slot)
}

// retry waits for the next attempt and then deletes the failed Job.
func (p *pass) retry(step *Step, slot *v1alpha1.TaskRefStatus, job Job) {
	lateWords(slot, job)
	switch {
	case job.Attempt != slot.Attempts && job.Attempt != 0, slot.Attempts == 0:
		// The task was reset: the former failure does not count.
		p.replace(step, job)
	case slot.Attempts >= step.MaxRetries:
		p.failed(step, slot)
	case slot.NextAttemptAt != nil && p.in.Now.Before(slot.NextAttemptAt.Time):
		p.retrying(step, slot)
	case p.in.Stopped:
		p.stopped(step)
	default:
		p.replace(step, job)
	}
}

// lateWords records the exit code and log of the failed pod if they arrive after the failure was recorded.
func lateWords(slot *v1alpha1.TaskRefStatus, job Job) {
	if job.State != JobFailed || job.Attempt != slot.Attempts {
		return
	}
	if slot.ExitCode == nil && job.ExitCode != nil {
		slot.ExitCode, slot.Message = job.ExitCode, job.Message
	}
	if slot.LogTail == "" {
		slot.LogTail = job.LogTail
	}
}

func (p *pass) retrying(step *Step, slot *v1alpha1.TaskRefStatus) {
	p.next(slot.NextAttemptAt.Time)
	p.at(step, v1alpha1.ReasonTaskRetrying, fmt.Sprintf("Task %s failed, attempt %d of %d, and is tried again: %s",
		step.Kind.Word, slot.Attempts, step.MaxRetries, slot.Message))
}

// failed marks a task as failed permanently. Running components are kept.
func (p *pass) failed(step *Step, slot *v1alpha1.TaskRefStatus) {
	slot.State, slot.NextAttemptAt = v1alpha1.TaskFailed, nil
	p.at(step, v1alpha1.ReasonTaskFailed, gaveUp(step, slot)+": "+slot.Message)
	p.hold()
}

// gaveUp describes a task without attempts left.
func gaveUp(step *Step, slot *v1alpha1.TaskRefStatus) string {
	attempts := fmt.Sprintf("%d attempts", slot.Attempts)
	if slot.Attempts == 1 {
		attempts = "1 attempt"
	}
	return fmt.Sprintf("Task %s failed permanently after %s", step.Kind.Word, attempts)
}

// given handles a task that failed permanently: it is retried only when its pod changes, which may be the cause, or
// when more attempts are allowed. A change of its inputs resets it earlier.
func (p *pass) given(step *Step, slot *v1alpha1.TaskRefStatus, job Job, exists bool) {
	before := slot.PodSpecHash
	if before == "" && exists && job.Attempt > 0 {
		before = job.PodHash
	}
	switch {
	case before != "" && before != step.PodHash:
		slot.Attempts = 0
		forgive(slot)
		p.normal(EventTaskRecovering, "Task %s is tried again with its new pod settings", step.Kind.Word)
	case slot.Attempts < step.MaxRetries:
	default:
		lateWords(slot, job)
		p.failed(step, slot)
		if exists && step.Retention == v1alpha1.RetentionDelete {
			p.remove(step.Kind.Word, job)
		}
		return
	}
	slot.State = v1alpha1.TaskPending
	if exists {
		p.replace(step, job)
		return
	}
	p.begin(step, slot)
}

// stuck waits for a pod that cannot start; the attempt's deadline still applies.
func (p *pass) stuck(step *Step, slot *v1alpha1.TaskRefStatus, job Job) {
	before := meta.FindStatusCondition(slot.Conditions, v1alpha1.ConditionTaskComplete)
	if before == nil || before.Reason != v1alpha1.ReasonTaskCannotStart {
		p.warning(EventTaskCannotStart, "The pod of task %s cannot start: %s", step.Kind.Word, job.Stuck)
	}
	slot.Message = job.Stuck
	p.at(step, v1alpha1.ReasonTaskCannotStart, fmt.Sprintf("Task %s cannot start: %s", step.Kind.Word, job.Stuck))
}
