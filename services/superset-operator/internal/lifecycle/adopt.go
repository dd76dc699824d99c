package lifecycle

import (
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// adopt translates a state whose checksums another operator computed, in a way that
// says nothing here. What it completed for the image that is wanted stays complete,
// what it began goes on, and what it gave up stays given up: taking over runs
// nothing. Checksums that belong to no enabled task are forgotten.
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
			// What comes after a task that began has to run after it.
			began = began || slot.State != v1alpha1.TaskComplete
		}
	}
}

// inherit lets a slot of another operator count for what is wanted now, if it is for the same image.
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
	// The other operator's fingerprints of pods say nothing here either.
	slot.PodSpecHash = step.PodHash
	if tick := p.tick(step); tick != nil {
		slot.LastScheduledAt = tick
	}
}

// sameImage says whether a slot is for the image that is wanted. A clone runs in an
// image of its own, and again when the target's changes.
func (p *pass) sameImage(step *Step, slot *v1alpha1.TaskRefStatus) bool {
	if step.Kind.Type == resolve.Clone.Type || slot.Image == "" {
		return p.in.LastImage == "" || p.in.LastImage == p.in.Image
	}
	return slot.Image == step.Image
}
