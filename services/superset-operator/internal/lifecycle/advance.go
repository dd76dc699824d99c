package lifecycle

import (
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

const (
	unreadPatience = 3 * time.Second
	unreadPause    = 200 * time.Millisecond
)

// advance moves one task forward and reports whether it is complete. If not, it sets the condition, and the following
// tasks wait.
func (p *pass) advance(step *Step) bool {
	slot := p.slot(step)
	job, exists := p.in.Jobs[step.Kind.Word]
	p.phase(step.Kind.Phase)
	switch {
	case slot.State == v1alpha1.TaskFailed && (!exists || job.State != JobActive):
		p.given(step, slot, job, exists)
	case !exists:
		p.begin(step, slot)
	case slot.State == v1alpha1.TaskRunning && counts(step, slot, job) && (job.State == JobSucceeded || !job.Deleting):
		return p.follow(step, slot, job)
	case job.Deleting:
		p.replace(step, job)
	case slot.State == v1alpha1.TaskPending && job.State == JobFailed:
		p.retry(step, slot, job)
	default:
		p.replace(step, job)
	}
	return false
}

// counts reports whether a Job is the current attempt, and not one of other inputs or of an abandoned attempt. Jobs
// of the legacy operator have no attempt.
func counts(step *Step, slot *v1alpha1.TaskRefStatus, job Job) bool {
	return job.Attempt == 0 || job.Attempt == slot.Attempts && job.Checksum == step.Checksum
}

func (p *pass) replace(step *Step, job Job) {
	p.remove(step.Kind.Word, job)
	p.at(step, v1alpha1.ReasonTaskWaiting, fmt.Sprintf("Waiting for the previous Job of task %s to be gone", step.Kind.Word))
}

// begin starts an attempt, or sets the reason why it has to wait.
func (p *pass) begin(step *Step, slot *v1alpha1.TaskRefStatus) {
	counted := slot.State == v1alpha1.TaskRunning && slot.Attempts > 0
	switch {
	case p.in.Stopped:
		p.stopped(step)
		return
	case !counted && slot.Attempts >= step.MaxRetries:
		p.failed(step, slot)
		return
	case !counted && slot.NextAttemptAt != nil && p.in.Now.Before(slot.NextAttemptAt.Time):
		p.retrying(step, slot)
		return
	case !p.drained(step):
		return
	case counted:
		// Its Job was not created or was deleted by a user: create it without counting it again.
		slot.PodSpecHash = step.PodHash
	default:
		p.count(step, slot)
	}
	p.out.Actions = append(p.out.Actions, Action{Verb: Create, Task: step.Kind.Word, Attempt: slot.Attempts})
	p.inProgress(step, slot)
}

// stopped waits: a stopped Superset starts no task, and removes no component for one.
func (p *pass) stopped(step *Step) {
	if p.was.Phase == v1alpha1.LifecycleDraining {
		p.status.Phase = p.was.Phase
	}
	reason := v1alpha1.ReasonTaskWaiting
	if p.away() {
		reason = v1alpha1.ReasonComponentsDrained
	}
	p.at(step, reason, fmt.Sprintf("Task %s does not start while the Superset is stopped", step.Kind.Word))
	p.hold()
}

// count records a new attempt.
func (p *pass) count(step *Step, slot *v1alpha1.TaskRefStatus) {
	slot.State, slot.Attempts, slot.Image = v1alpha1.TaskRunning, slot.Attempts+1, step.Image
	slot.StartedAt, slot.PodSpecHash = p.now(), step.PodHash
	slot.CompletedAt, slot.NextAttemptAt, slot.Message = nil, nil, ""
	p.forget(step)
	p.normal(EventTaskStarted, "Started task %s, attempt %d of %d", step.Kind.Word, slot.Attempts, step.MaxRetries)
}

// follow evaluates the Job of the current attempt.
func (p *pass) follow(step *Step, slot *v1alpha1.TaskRefStatus, job Job) bool {
	otherPod := job.PodHash != step.PodHash
	if job.Attempt == 0 {
		otherPod = slot.PodSpecHash != step.PodHash
	}
	// An admission webhook may rewrite images. A Job that was created from the desired pod is not replaced for that.
	otherImage := job.Image != "" && job.Image != step.Image && (otherPod || job.Attempt == 0)
	switch {
	case otherImage:
		p.again(step, slot, job)
		p.normal(EventTaskImageChanged, "The Job of task %s is replaced: it has image %s instead of %s", step.Kind.Word, job.Image, step.Image)
	case job.State == JobSucceeded && p.unread(job):
		p.inProgress(step, slot)
	case job.State == JobSucceeded:
		p.succeed(step, slot, job)
		return true
	case job.State == JobFailed:
		p.fail(step, slot, job)
	case job.Stuck != "" && otherPod:
		p.again(step, slot, job)
		p.normal(EventTaskRecovering, "Task %s gets a pod with its new settings", step.Kind.Word)
	case job.Stuck != "":
		p.stuck(step, slot, job)
	default:
		slot.Message = ""
		p.inProgress(step, slot)
	}
	return false
}

func (p *pass) inProgress(step *Step, slot *v1alpha1.TaskRefStatus) {
	p.at(step, v1alpha1.ReasonTaskInProgress,
		fmt.Sprintf("Task %s is running, attempt %d of %d", step.Kind.Word, slot.Attempts, step.MaxRetries))
}

// again replaces a Job whose pod did not start; its attempt does not count.
func (p *pass) again(step *Step, slot *v1alpha1.TaskRefStatus, job Job) {
	slot.State, slot.Attempts, slot.Message = v1alpha1.TaskPending, slot.Attempts-1, ""
	p.replace(step, job)
}

// unread waits up to unreadPatience until the pod of a succeeded Job has terminated: its termination message has the
// counts.
func (p *pass) unread(job Job) bool {
	if !job.Unread || job.FinishedAt == nil {
		return false
	}
	patience := job.FinishedAt.Add(unreadPatience)
	if !p.in.Now.Before(patience) {
		return false
	}
	p.next(p.in.Now.Add(unreadPause))
	return true
}

func (p *pass) succeed(step *Step, slot *v1alpha1.TaskRefStatus, job Job) {
	slot.CompletedAt, slot.StoredSecrets = job.FinishedAt, job.StoredSecrets
	p.complete(step, slot)
	p.normal(EventTaskSucceeded, "Task %s succeeded in attempt %d of %d%s",
		step.Kind.Word, slot.Attempts, step.MaxRetries, counted(step.Kind, job.StoredSecrets))
}

// counted describes what a task read and changed; empty if it counts nothing.
func counted(kind resolve.TaskKind, s *v1alpha1.StoredSecretsStatus) string {
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
