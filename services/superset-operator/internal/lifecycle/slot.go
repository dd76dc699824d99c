package lifecycle

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

func (p *pass) slot(step *Step) *v1alpha1.TaskRefStatus { return *step.Kind.Slot(p.status) }

func (p *pass) enabled(kind resolve.TaskKind) bool {
	for i := range p.in.Steps {
		if p.in.Steps[i].Kind.Type == kind.Type {
			return true
		}
	}
	return false
}

// prune removes the status of tasks that are not enabled and deletes their finished Jobs. Their completion is kept,
// so that enabling one again runs nothing. While a Job is active its status stays: it may complete before it is gone.
func (p *pass) prune() {
	for _, kind := range resolve.TaskKinds() {
		job, exists := p.in.Jobs[kind.Word]
		if p.enabled(kind) || exists && job.State == JobActive {
			continue
		}
		if exists {
			p.remove(kind.Word, job)
		}
		at := kind.Slot(p.status)
		if slot := *at; slot != nil {
			p.record(kind, slot)
			switch {
			case slot.CompletedChecksum != "":
				p.keep(kind, slot.CompletedChecksum)
			case isPreflight(kind):
				// An unfinished check leaves no result.
				delete(p.status.LastCompletedChecksums, kind.Type)
			}
		}
		*at = nil
	}
}

// record stores the completion by a succeeded Job before the status entry changes to another checksum.
func (p *pass) record(kind resolve.TaskKind, slot *v1alpha1.TaskRefStatus) {
	job, exists := p.in.Jobs[kind.Word]
	if exists && job.State == JobSucceeded && slot.State == v1alpha1.TaskRunning &&
		job.Attempt == slot.Attempts && job.Checksum == slot.DesiredChecksum {
		slot.CompletedChecksum = job.Checksum
	}
}

// keep stores the completed checksum of a task. The map is owned by the status.
func (p *pass) keep(kind resolve.TaskKind, checksum string) {
	if p.status.LastCompletedChecksums == nil {
		p.status.LastCompletedChecksums = map[string]string{}
	}
	p.status.LastCompletedChecksums[kind.Type] = checksum
}

// prepare moves all tasks to their desired checksums and returns the index of the first one that is not complete. A
// task is complete for the checksum of its last run, and for the one that the components last ran with if all
// previous tasks are complete in this way too: a reverted change runs nothing except a preflight, since a rotation
// may have changed what it reads.
func (p *pass) prepare() int {
	first, settled := len(p.in.Steps), true
	for i := range p.in.Steps {
		step := &p.in.Steps[i]
		if isPreflight(step.Kind) {
			continue
		}
		slot := p.ensure(step)
		settled = settled && p.status.LastCompletedChecksums[step.Kind.Type] == step.Checksum
		if settled || slot.CompletedChecksum == step.Checksum {
			p.complete(step, slot)
			continue
		}
		first = min(first, i)
		p.want(step, slot)
	}
	if p.preparePreflight(first) || p.atWork(first) {
		return first
	}
	return 0
}

// ensure returns the status entry of a task, and creates it with the last completion.
func (p *pass) ensure(step *Step) *v1alpha1.TaskRefStatus {
	at := step.Kind.Slot(p.status)
	if *at == nil {
		*at = &v1alpha1.TaskRefStatus{CompletedChecksum: p.status.LastCompletedChecksums[step.Kind.Type]}
		if step.Kind.Type == resolve.Clone.Type {
			(*at).LastScheduledAt = p.status.CompletedTick.DeepCopy()
		}
	}
	slot := *at
	slot.Ref, slot.MaxRetries = "Job/"+step.JobName, step.MaxRetries
	if tick := p.tick(step); tick != nil {
		slot.LastScheduledAt = tick
	}
	return slot
}

// want makes a task pending if its desired checksum changed.
func (p *pass) want(step *Step, slot *v1alpha1.TaskRefStatus) {
	if slot.DesiredChecksum == step.Checksum && slot.State != v1alpha1.TaskComplete {
		return
	}
	p.record(step.Kind, slot)
	slot.DesiredChecksum = step.Checksum
	slot.State, slot.Attempts, slot.Image = v1alpha1.TaskPending, 0, step.Image
	forgive(slot)
}

// forgive clears the failure of the last attempt.
func forgive(slot *v1alpha1.TaskRefStatus) {
	slot.NextAttemptAt, slot.Message, slot.ExitCode, slot.LogTail = nil, "", nil, ""
}

// complete marks a task as complete for its checksum.
func (p *pass) complete(step *Step, slot *v1alpha1.TaskRefStatus) {
	forgive(slot)
	slot.State, slot.Image = v1alpha1.TaskComplete, step.Image
	slot.DesiredChecksum, slot.CompletedChecksum = step.Checksum, step.Checksum
	if step.Inputs != "" {
		if p.status.CompletedInputs == nil {
			p.status.CompletedInputs = map[string]string{}
		}
		p.status.CompletedInputs[step.Kind.Type] = step.Inputs
		if step.Kind.Type == resolve.Clone.Type {
			p.status.CompletedTick = slot.LastScheduledAt.DeepCopy()
		}
	}
	p.mark(step, metav1.ConditionTrue, v1alpha1.ReasonTaskComplete, "Completed successfully")
}

// forget clears the completions that a new attempt invalidates: those of its task and of all following ones, since
// the Job may change the database from its start. The checksums that the components last ran with stay, so that a
// change can be reverted, except for a clone, which drops the database. Inputs stay too: they define how other
// checksums are computed, not what the database holds. A preflight only reads, so the other tasks stay complete.
func (p *pass) forget(step *Step) {
	if isPreflight(step.Kind) {
		p.slot(step).CompletedChecksum = ""
		return
	}
	if step.Kind.Type == resolve.Clone.Type {
		p.status.LastCompletedChecksums = nil
	}
	after := false
	for i := range p.in.Steps {
		other := &p.in.Steps[i]
		after = after || other.Kind.Type == step.Kind.Type
		if !after {
			continue
		}
		slot := p.slot(other)
		slot.CompletedChecksum = ""
		if other.Kind.Type != step.Kind.Type {
			p.want(other, slot)
		}
	}
}

// settle ends the sequence: every task is complete, and no Job is active.
func (p *pass) settle() {
	if p.out.Upgrading {
		p.normal(EventUpgradeCompleted, "The image changed from %s to %s", p.out.From, p.in.Image)
	}
	p.out.Mode, p.out.LastImage, p.status.Upgrade, p.status.MigratedImage = Apply, p.in.Image, nil, ""
	for i := range p.in.Steps {
		p.keep(p.in.Steps[i].Kind, p.in.Steps[i].Checksum)
	}
	done := p.was.Phase == v1alpha1.LifecycleComplete && !p.out.Upgrading && !p.out.Initial
	p.status.Phase = v1alpha1.LifecycleRestoring
	if done || !p.in.Components {
		p.status.Phase = v1alpha1.LifecycleComplete
	}
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

// retain deletes finished Jobs by retention policy. It runs last: their results are stored, and until then users can
// inspect them.
func (p *pass) retain() {
	for i := range p.in.Steps {
		step := &p.in.Steps[i]
		job, exists := p.in.Jobs[step.Kind.Word]
		kept := step.Retention == v1alpha1.RetentionRetain ||
			step.Retention != v1alpha1.RetentionDelete && job.State == JobFailed
		if exists && !kept {
			p.remove(step.Kind.Word, job)
		}
	}
}

// mark sets the condition of a task. lastTransitionTime changes only with the status.
func (p *pass) mark(step *Step, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&p.slot(step).Conditions, metav1.Condition{
		Type: v1alpha1.ConditionTaskComplete, Status: status, Reason: reason, Message: message, LastTransitionTime: *p.now(),
	})
}

// at sets the condition of a task and LifecycleComplete.
func (p *pass) at(step *Step, reason, message string) {
	p.waiting(reason, message)
	if reason == v1alpha1.ReasonDraining || reason == v1alpha1.ReasonComponentsDrained {
		reason = v1alpha1.ReasonTaskWaiting
	}
	p.mark(step, metav1.ConditionFalse, reason, message)
}
