package lifecycle

import (
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/checksum"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// adopt converts a state with checksums of another scheme, which cannot be compared, so that adoption runs no task.
// Tasks that are complete for the desired image stay complete, started tasks continue, and failed tasks stay failed.
// Checksums of tasks that are not enabled are dropped.
func (d *decider) adopt() {
	if d.status.ChecksumScheme == checksum.Scheme {
		return
	}
	d.status.ChecksumScheme = checksum.Scheme
	d.status.LastCompletedChecksums, d.status.CompletedInputs, d.status.CompletedTick = nil, nil, nil
	for _, kind := range resolve.TaskKinds() {
		if entry := *kind.StatusRef(d.status); entry != nil {
			entry.CompletedChecksum = ""
		}
	}
	started := false
	for i := range d.in.Steps {
		step := &d.in.Steps[i]
		d.adoptEntry(step)
		entry := d.entry(step)
		switch {
		case entry == nil || entry.DesiredChecksum != step.Checksum:
		case entry.State == v1alpha1.TaskComplete && !started:
			d.complete(step, entry)
		default:
			// Tasks after a started task have to run after it.
			started = started || entry.State != v1alpha1.TaskComplete
		}
	}
}

// adoptEntry reuses the status of a task of another operator for the desired checksum if the image is the same.
func (d *decider) adoptEntry(step *Step) {
	at := step.Kind.StatusRef(d.status)
	job, exists := d.in.Jobs[step.Kind.Slug]
	unfinished := exists && job.Attempt == 0 && job.State == JobActive && !job.Deleting && job.Image == step.Image
	if *at == nil && unfinished {
		*at = &v1alpha1.TaskRefStatus{State: v1alpha1.TaskPending, Image: step.Image}
	}
	entry := *at
	if entry == nil || !d.sameImage(step, entry) {
		return
	}
	entry.DesiredChecksum, entry.Image = step.Checksum, step.Image
	if entry.State == "" || entry.State == v1alpha1.TaskPending && unfinished {
		entry.State = v1alpha1.TaskPending
		if unfinished {
			entry.State = v1alpha1.TaskRunning
		}
	}
	if entry.State == v1alpha1.TaskRunning {
		entry.Attempts = max(entry.Attempts, 1)
	}
	// The pod fingerprints of the other operator cannot be compared either.
	entry.PodSpecHash = step.PodHash
	if scheduled := d.scheduledTime(step); scheduled != nil {
		entry.LastScheduledAt = scheduled
	}
}

// sameImage reports whether a status entry is for the desired image. A clone has its own image, and runs again when
// the target image changes.
func (d *decider) sameImage(step *Step, entry *v1alpha1.TaskRefStatus) bool {
	if step.Kind.Type == resolve.Clone.Type || entry.Image == "" {
		return d.in.LastImage == "" || d.in.LastImage == d.in.Image
	}
	return entry.Image == step.Image
}
