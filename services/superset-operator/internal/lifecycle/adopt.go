package lifecycle

import (
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// adopt converts a state with checksums of another scheme, which cannot be compared, so that adoption runs no task.
// Tasks that are complete for the desired image stay complete, started tasks continue, and failed tasks stay failed.
// Checksums of tasks that are not enabled are dropped.
func (p *pass) adopt() {
	if p.status.ChecksumScheme == checksum.Scheme {
		return
	}
	p.status.ChecksumScheme = checksum.Scheme
	p.status.LastCompletedChecksums, p.status.CompletedInputs, p.status.CompletedTick = nil, nil, nil
	for _, kind := range resolve.TaskKinds() {
		if slot := *kind.Slot(p.status); slot != nil {
			slot.CompletedChecksum = ""
		}
	}
	began := false
	for i := range p.in.Steps {
		step := &p.in.Steps[i]
		p.inherit(step)
		slot := p.slot(step)
		switch {
		case slot == nil || slot.DesiredChecksum != step.Checksum:
		case slot.State == v1alpha1.TaskComplete && !began:
			p.complete(step, slot)
		default:
			// Tasks after a started task have to run after it.
			began = began || slot.State != v1alpha1.TaskComplete
		}
	}
}

// inherit reuses the status of a task of another operator for the desired checksum if the image is the same.
func (p *pass) inherit(step *Step) {
	at := step.Kind.Slot(p.status)
	job, exists := p.in.Jobs[step.Kind.Word]
	unfinished := exists && job.Attempt == 0 && job.State == JobActive && !job.Deleting && job.Image == step.Image
	if *at == nil && unfinished {
		*at = &v1alpha1.TaskRefStatus{State: v1alpha1.TaskPending, Image: step.Image}
	}
	slot := *at
	if slot == nil || !p.sameImage(step, slot) {
		return
	}
	slot.DesiredChecksum, slot.Image = step.Checksum, step.Image
	if slot.State == "" || slot.State == v1alpha1.TaskPending && unfinished {
		slot.State = v1alpha1.TaskPending
		if unfinished {
			slot.State = v1alpha1.TaskRunning
		}
	}
	if slot.State == v1alpha1.TaskRunning {
		slot.Attempts = max(slot.Attempts, 1)
	}
	// The pod fingerprints of the other operator cannot be compared either.
	slot.PodSpecHash = step.PodHash
	if tick := p.tick(step); tick != nil {
		slot.LastScheduledAt = tick
	}
}

// sameImage reports whether a status entry is for the desired image. A clone has its own image, and runs again when
// the target image changes.
func (p *pass) sameImage(step *Step, slot *v1alpha1.TaskRefStatus) bool {
	if step.Kind.Type == resolve.Clone.Type || slot.Image == "" {
		return p.in.LastImage == "" || p.in.LastImage == p.in.Image
	}
	return slot.Image == step.Image
}
