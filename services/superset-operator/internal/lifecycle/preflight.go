package lifecycle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

func isPreflight(kind resolve.TaskKind) bool { return kind.Type == resolve.Preflight.Type }

// preflight returns the key check, which is the first task; nil if it is not enabled.
func (p *pass) preflight() *Step {
	if len(p.in.Steps) == 0 || !isPreflight(p.in.Steps[0].Kind) {
		return nil
	}
	return &p.in.Steps[0]
}

// preparePreflight moves the key check to the desired checksum and reports whether there is nothing to wait for. The
// check runs when the keys change. A first installation has nothing to check, and neither has one without an earlier
// check whose other tasks are complete: the components run with these keys. first is the index of the first other
// task that is not complete.
func (p *pass) preparePreflight(first int) bool {
	step := p.preflight()
	if step == nil {
		return true
	}
	fresh := p.slot(step) == nil && p.status.LastCompletedChecksums[step.Kind.Type] == ""
	slot := p.ensure(step)
	switch {
	case slot.CompletedChecksum == step.Checksum && slot.State == v1alpha1.TaskComplete:
	case slot.CompletedChecksum == step.Checksum:
		p.complete(step, slot)
	case p.out.Initial || fresh && first == len(p.in.Steps):
		p.complete(step, slot)
		p.mark(step, metav1.ConditionTrue, v1alpha1.ReasonTaskComplete, "Nothing to check")
	default:
		p.want(step, slot)
		return false
	}
	return true
}

// atWork reports whether the Job of a task runs for the desired checksum: a new key check does not interrupt it and
// runs after it.
func (p *pass) atWork(first int) bool {
	if first == len(p.in.Steps) {
		return false
	}
	step := &p.in.Steps[first]
	job, exists := p.in.Jobs[step.Kind.Word]
	return exists && job.State == JobActive && !job.Deleting && counts(step, p.slot(step), job)
}

// unchecked reports whether the key check has to run before another task starts.
func (p *pass) unchecked() bool {
	step := p.preflight()
	return step != nil && p.slot(step).State != v1alpha1.TaskComplete
}

// proven reports whether the components may get the desired keys: they were checked, and the stored secrets are
// encrypted with them. Until then the components are not changed at all.
func (p *pass) proven() bool {
	for i := range p.in.Steps {
		step := &p.in.Steps[i]
		if !isPreflight(step.Kind) && step.Kind.Type != resolve.Rotate.Type {
			continue
		}
		slot := p.slot(step)
		done := slot != nil && slot.State == v1alpha1.TaskComplete && slot.CompletedChecksum == step.Checksum
		unknown := isPreflight(step.Kind) && slot == nil && p.status.LastCompletedChecksums[step.Kind.Type] == ""
		if !done && !unknown {
			return false
		}
	}
	return true
}
