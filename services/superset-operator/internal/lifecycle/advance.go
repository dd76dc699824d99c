package lifecycle

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 5 * time.Minute
)

// Backoff is how long to wait after the given number of failed attempts: 10 s,
// doubled with each failure, at most 5 minutes.
func Backoff(failed int32) time.Duration {
	delay := firstBackoff
	for i := int32(1); i < failed && delay < maxBackoff; i++ {
		delay *= 2
	}
	return min(delay, maxBackoff)
}

// advance brings one task forward and reports whether it is complete. When it is
// not, the condition says why, and the tasks after it wait.
func (p *pass) advance(step *Step) bool {
	slot := *step.Kind.Slot(p.out.Status)
	job, exists := p.in.Jobs[step.Kind.Word]
	if slot.State == v1alpha1.TaskComplete && slot.CompletedChecksum == step.Checksum {
		return p.afterComplete(step, job, exists)
	}
	switch {
	case !exists:
		p.begin(step, slot)
	case job.Deleting:
		p.waiting(v1alpha1.ReasonTaskWaiting, fmt.Sprintf("Waiting for the previous Job of task %s to be gone", step.Kind.Word))
	case job.Checksum != step.Checksum || job.Attempt < slot.Attempts:
		// It stands for other inputs, or for an attempt that was counted as failed.
		p.replace(step, job)
	case job.State == JobSucceeded:
		return p.succeed(step, slot, job)
	case job.State == JobFailed:
		p.fail(step, slot, job)
	default:
		p.running(step, slot, job)
	}
	return false
}

// afterComplete waits for a Job with other inputs that is still there although
// the task is complete: it must not meet components that start.
func (p *pass) afterComplete(step *Step, job Job, exists bool) bool {
	if !exists || job.State != JobActive {
		return true
	}
	p.replace(step, job)
	return false
}

func (p *pass) replace(step *Step, job Job) {
	p.remove(step.Kind.Word, job)
	p.waiting(v1alpha1.ReasonTaskWaiting, fmt.Sprintf("Replacing the Job of task %s", step.Kind.Word))
}

// begin starts an attempt, or says why none starts.
func (p *pass) begin(step *Step, slot *v1alpha1.TaskRefStatus) {
	switch {
	case p.in.Stopped:
		p.waiting(v1alpha1.ReasonTaskWaiting, fmt.Sprintf("Task %s does not start while the Superset is stopped", step.Kind.Word))
		return
	case slot.State == v1alpha1.TaskRunning && slot.Attempts > 0:
		// Counted, but its Job was not made or somebody removed it: make it, without counting again.
	case slot.Attempts >= step.MaxRetries:
		p.failed(step, slot)
		return
	case slot.NextAttemptAt != nil && p.in.Now.Before(slot.NextAttemptAt.Time):
		p.retrying(step, slot)
		return
	default:
		p.count(step, slot)
	}
	p.out.Actions = append(p.out.Actions, Action{Verb: Create, Task: step.Kind.Word, Attempt: slot.Attempts})
	p.inProgress(step, slot)
}

// count opens a new attempt in the state, and forgets the previous completion:
// from the Job's first moment on the database may not be what it was.
func (p *pass) count(step *Step, slot *v1alpha1.TaskRefStatus) {
	slot.State, slot.Attempts, slot.Image = v1alpha1.TaskRunning, slot.Attempts+1, step.Image
	slot.StartedAt = &metav1.Time{Time: p.in.Now.Truncate(time.Second)}
	slot.CompletedAt, slot.NextAttemptAt, slot.Message = nil, nil, ""
	p.forget(step, slot)
	p.event(false, "TaskStarted", fmt.Sprintf("Started task %s, attempt %d of %d", step.Kind.Word, slot.Attempts, step.MaxRetries))
}

func (p *pass) forget(step *Step, slot *v1alpha1.TaskRefStatus) {
	slot.CompletedChecksum = ""
	delete(p.out.Status.LastCompletedChecksums, step.Kind.Type)
}

func (p *pass) running(step *Step, slot *v1alpha1.TaskRefStatus, job Job) {
	slot.State, slot.Attempts, slot.NextAttemptAt = v1alpha1.TaskRunning, max(job.Attempt, 1), nil
	p.forget(step, slot)
	p.inProgress(step, slot)
}

func (p *pass) inProgress(step *Step, slot *v1alpha1.TaskRefStatus) {
	p.waiting(v1alpha1.ReasonTaskInProgress,
		fmt.Sprintf("Task %s is running, attempt %d of %d", step.Kind.Word, slot.Attempts, step.MaxRetries))
}

func (p *pass) succeed(step *Step, slot *v1alpha1.TaskRefStatus, job Job) bool {
	slot.Attempts, slot.CompletedAt = max(job.Attempt, slot.Attempts), job.FinishedAt
	p.complete(step, slot)
	return true
}

// fail records a failed Job, and removes it when the next attempt is due.
func (p *pass) fail(step *Step, slot *v1alpha1.TaskRefStatus, job Job) {
	switch {
	case slot.State == v1alpha1.TaskPending && slot.Attempts == 0:
		// A fresh start was decided: what failed before does not count.
		p.replace(step, job)
		return
	case p.recorded(slot, job):
		p.afterFailure(step, slot, job)
		return
	}
	slot.Attempts = max(job.Attempt, 1)
	slot.Message = job.Message
	if slot.Attempts >= step.MaxRetries {
		slot.State, slot.NextAttemptAt = v1alpha1.TaskFailed, nil
		p.event(true, v1alpha1.ReasonTaskFailed, fmt.Sprintf("Task %s failed for good: %s", step.Kind.Word, job.Message))
		p.failed(step, slot)
		return
	}
	finished := p.in.Now
	if job.FinishedAt != nil {
		finished = job.FinishedAt.Time
	}
	slot.State = v1alpha1.TaskPending
	slot.NextAttemptAt = &metav1.Time{Time: finished.Add(Backoff(slot.Attempts)).Truncate(time.Second)}
	p.event(true, "TaskRetry", fmt.Sprintf("Task %s failed, attempt %d of %d: %s", step.Kind.Word, slot.Attempts, step.MaxRetries, job.Message))
	p.retrying(step, slot)
}

// recorded says whether this very failure stands in the state.
func (p *pass) recorded(slot *v1alpha1.TaskRefStatus, job Job) bool {
	return slot.Attempts == max(job.Attempt, 1) && slot.State != v1alpha1.TaskRunning
}

// afterFailure waits for the next attempt, or for a reason to try again.
func (p *pass) afterFailure(step *Step, slot *v1alpha1.TaskRefStatus, job Job) {
	switch {
	case job.PodHash != "" && job.PodHash != step.PodHash && slot.State == v1alpha1.TaskFailed:
		// The user changed how the pod runs: that is worth a fresh start.
		slot.State, slot.Attempts, slot.Message, slot.NextAttemptAt = v1alpha1.TaskPending, 0, "", nil
		p.event(false, "TaskRecovering", fmt.Sprintf("Task %s is tried again with its new pod settings", step.Kind.Word))
		p.replace(step, job)
	case slot.Attempts >= step.MaxRetries:
		slot.State = v1alpha1.TaskFailed
		p.failed(step, slot)
		if step.Retention == v1alpha1.RetentionDelete {
			p.remove(step.Kind.Word, job)
		}
	case slot.NextAttemptAt != nil && p.in.Now.Before(slot.NextAttemptAt.Time):
		p.retrying(step, slot)
	default:
		slot.State = v1alpha1.TaskPending
		if p.in.Stopped {
			p.begin(step, slot)
			return
		}
		p.replace(step, job)
	}
}

func (p *pass) retrying(step *Step, slot *v1alpha1.TaskRefStatus) {
	p.out.Next = slot.NextAttemptAt.Time
	p.waiting(v1alpha1.ReasonTaskRetrying, fmt.Sprintf("Task %s failed, attempt %d of %d, and is tried again: %s",
		step.Kind.Word, slot.Attempts, step.MaxRetries, slot.Message))
}

func (p *pass) failed(step *Step, slot *v1alpha1.TaskRefStatus) {
	slot.State = v1alpha1.TaskFailed
	p.waiting(v1alpha1.ReasonTaskFailed, fmt.Sprintf("Task %s failed for good after %d attempts: %s",
		step.Kind.Word, slot.Attempts, slot.Message))
}
