package lifecycle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

func isPreflight(kind resolve.TaskKind) bool { return kind.Type == resolve.Preflight.Type }

// preflight returns the key check, which is the first task; nil if it is not enabled.
func (d *decider) preflight() *Step {
	if len(d.in.Steps) == 0 || !isPreflight(d.in.Steps[0].Kind) {
		return nil
	}
	return &d.in.Steps[0]
}

// preparePreflight moves the key check to the desired checksum and reports whether there is nothing to wait for. The
// check runs when the keys change. A first installation has nothing to check, and neither has one without an earlier
// check whose other tasks are complete: the components run with these keys. first is the index of the first other
// task that is not complete.
func (d *decider) preparePreflight(first int) bool {
	step := d.preflight()
	if step == nil {
		return true
	}
	fresh := d.entry(step) == nil && d.status.LastCompletedChecksums[step.Kind.Type] == ""
	entry := d.ensureEntry(step)
	switch {
	case entry.CompletedChecksum == step.Checksum && entry.State == v1alpha1.TaskComplete:
	case entry.CompletedChecksum == step.Checksum:
		d.complete(step, entry)
	case d.out.Initial || fresh && first == len(d.in.Steps):
		d.complete(step, entry)
		d.setTaskCondition(step, metav1.ConditionTrue, v1alpha1.ReasonTaskComplete, "There is nothing to check.")
	default:
		d.setDesired(step, entry)
		return false
	}
	return true
}

// jobActive reports whether the Job of a task runs for the desired checksum: a new key check does not interrupt it and
// runs after it.
func (d *decider) jobActive(first int) bool {
	if first == len(d.in.Steps) {
		return false
	}
	step := &d.in.Steps[first]
	job, exists := d.in.Jobs[step.Kind.Slug]
	return exists && job.State == JobActive && !job.Deleting && isCurrent(step, d.entry(step), job)
}

// preflightPending reports whether the key check has to run before another task starts.
func (d *decider) preflightPending() bool {
	step := d.preflight()
	return step != nil && d.entry(step).State != v1alpha1.TaskComplete
}

// keysVerified reports whether the components may get the desired keys: they were checked, and the stored secrets are
// encrypted with them. Until then the components are not changed at all.
func (d *decider) keysVerified() bool {
	for i := range d.in.Steps {
		step := &d.in.Steps[i]
		if !isPreflight(step.Kind) && step.Kind.Type != resolve.Rotate.Type {
			continue
		}
		entry := d.entry(step)
		done := entry != nil && entry.State == v1alpha1.TaskComplete && entry.CompletedChecksum == step.Checksum
		unknown := isPreflight(step.Kind) && entry == nil && d.status.LastCompletedChecksums[step.Kind.Type] == ""
		if !done && !unknown {
			return false
		}
	}
	return true
}
