package lifecycle

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Decide says what becomes of the tasks.
func Decide(in Input) Decision {
	p := &pass{in: in}
	p.out.Status = in.Status.DeepCopy()
	if p.out.Status == nil {
		p.out.Status = &v1alpha1.LifecycleStatus{}
	}
	p.out.Mode = Wait
	p.out.LastImage = in.LastImage
	p.out.Initial = in.LastImage == ""
	p.out.Upgrading = in.LastImage != "" && in.LastImage != in.Image && !in.Disabled

	p.adopt()
	pruned := p.prune()
	for i := range in.Steps {
		p.prepare(&in.Steps[i])
	}
	if !pruned {
		return p.out
	}
	for i := range in.Steps {
		if !p.advance(&in.Steps[i]) {
			p.out.Status.Phase = in.Steps[i].Kind.Phase
			return p.out
		}
	}
	p.settle()
	return p.out
}

// pass is one call of Decide.
type pass struct {
	in  Input
	out Decision
}

// adopt translates checksums that another scheme computed: a task that is
// complete for the image that is wanted stays complete. Only tasks that are
// enabled can be translated; other checksums say nothing under this scheme.
func (p *pass) adopt() {
	status := p.out.Status
	if status.ChecksumScheme == checksum.Scheme {
		return
	}
	status.ChecksumScheme = checksum.Scheme
	status.LastCompletedChecksums = nil
	for _, step := range p.in.Steps {
		slot := *step.Kind.Slot(status)
		if slot == nil {
			continue
		}
		slot.CompletedChecksum = ""
		if slot.State == v1alpha1.TaskComplete && slot.Image == step.Image {
			p.complete(&step, slot)
		}
	}
}

// prune forgets tasks that are not enabled, but for the checksum that they last
// completed with, and removes their Jobs. It reports whether those are gone.
func (p *pass) prune() bool {
	gone := true
	for _, kind := range resolve.TaskKinds() {
		if p.enabled(kind) {
			continue
		}
		*kind.Slot(p.out.Status) = nil
		job, exists := p.in.Jobs[kind.Word]
		if !exists {
			continue
		}
		p.remove(kind.Word, job)
		if job.State == JobActive {
			// A migration that still runs must not meet components that start.
			gone = false
			p.waiting(v1alpha1.ReasonTaskWaiting, fmt.Sprintf("Waiting for the disabled task %s to end", kind.Word))
		}
	}
	return gone
}

func (p *pass) enabled(kind resolve.TaskKind) bool {
	for _, step := range p.in.Steps {
		if step.Kind.Type == kind.Type {
			return true
		}
	}
	return false
}

// prepare brings a task's slot to the checksum that is wanted now.
func (p *pass) prepare(step *Step) {
	at := step.Kind.Slot(p.out.Status)
	if *at == nil {
		*at = &v1alpha1.TaskRefStatus{CompletedChecksum: p.out.Status.LastCompletedChecksums[step.Kind.Type]}
	}
	slot := *at
	slot.Ref, slot.MaxRetries = "Job/"+step.JobName, step.MaxRetries
	if slot.DesiredChecksum == step.Checksum {
		return
	}
	slot.DesiredChecksum = step.Checksum
	if slot.CompletedChecksum == step.Checksum {
		// Back to what ran last, and nothing else has run in between: still complete.
		p.complete(step, slot)
		return
	}
	slot.State, slot.Attempts, slot.Image = v1alpha1.TaskPending, 0, step.Image
	slot.NextAttemptAt, slot.Message = nil, ""
}

// complete marks a slot as complete for the step's checksum.
func (p *pass) complete(step *Step, slot *v1alpha1.TaskRefStatus) {
	slot.State, slot.Message, slot.NextAttemptAt = v1alpha1.TaskComplete, "", nil
	slot.Image = step.Image
	slot.DesiredChecksum, slot.CompletedChecksum = step.Checksum, step.Checksum
	if p.out.Status.LastCompletedChecksums == nil {
		p.out.Status.LastCompletedChecksums = map[string]string{}
	}
	p.out.Status.LastCompletedChecksums[step.Kind.Type] = step.Checksum
}

// settle ends the sequence: every task is complete.
func (p *pass) settle() {
	status := p.out.Status
	p.out.Mode = Apply
	if status.Phase != v1alpha1.LifecycleComplete && status.Phase != v1alpha1.LifecycleRestoring || p.out.Upgrading || p.out.Initial {
		status.Phase = v1alpha1.LifecycleRestoring
	}
	if !p.in.Components {
		status.Phase = v1alpha1.LifecycleComplete
	}
	p.out.LastImage = p.in.Image
	switch {
	case p.in.Disabled:
		p.condition(metav1.ConditionTrue, v1alpha1.ReasonLifecycleDisabled, "Lifecycle tasks are disabled")
	case len(p.in.Steps) == 0:
		p.condition(metav1.ConditionTrue, v1alpha1.ReasonNoLifecycleTasks, "No lifecycle task is enabled")
	default:
		p.condition(metav1.ConditionTrue, v1alpha1.ReasonLifecycleComplete, "All lifecycle tasks are complete")
	}
	p.retain()
}

// retain removes finished Jobs as the retention policy says.
func (p *pass) retain() {
	for _, step := range p.in.Steps {
		job, exists := p.in.Jobs[step.Kind.Word]
		if exists && job.State == JobSucceeded && step.Retention != v1alpha1.RetentionRetain {
			p.remove(step.Kind.Word, job)
		}
	}
}

// remove deletes a Job unless it is on its way out already.
func (p *pass) remove(task string, job Job) {
	if !job.Deleting {
		p.out.Actions = append(p.out.Actions, Action{Verb: Delete, Task: task, UID: job.UID})
	}
}

func (p *pass) condition(status metav1.ConditionStatus, reason, message string) {
	p.out.Condition = metav1.Condition{
		Type: v1alpha1.ConditionLifecycleComplete, Status: status, Reason: reason, Message: message,
	}
}

func (p *pass) waiting(reason, message string) { p.condition(metav1.ConditionFalse, reason, message) }

func (p *pass) event(warning bool, reason, message string) {
	p.out.Events = append(p.out.Events, Event{Warning: warning, Reason: reason, Message: message})
}
