package lifecycle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// Entries of lastCompletedChecksums for the inputs that the last complete preflight accepted: the secret keys, and
// all settings of the components except the image.
const (
	acceptedKeys     = "PreflightKeys"
	acceptedSettings = "PreflightSettings"
)

func isPreflight(kind resolve.TaskKind) bool { return kind.Type == resolve.Preflight.Type }

// preflight returns the preflight, which is the first task; nil if it is not enabled.
func (d *decider) preflight() *Step {
	if len(d.in.Steps) == 0 || !isPreflight(d.in.Steps[0].Kind) {
		return nil
	}
	return &d.in.Steps[0]
}

// preparePreflight moves the preflight to the desired checksum and reports whether it is complete. It runs when the
// image, the keys, the configuration, the metastore or the broker change. A first installation has no components to
// protect, so there the migration runs the checks. If no preflight ran before and all other tasks are complete, the
// components already run with these inputs, and no check is needed. first is the index of the first other task that
// is not complete.
func (d *decider) preparePreflight(first int) bool {
	step := d.preflight()
	if step == nil {
		return true
	}
	unchanged := first == len(d.in.Steps)
	neverRan := d.entry(step) == nil && d.status.LastCompletedChecksums[step.Kind.Type] == ""
	entry := d.ensureEntry(step)
	if d.status.LastCompletedChecksums[acceptedKeys] == "" && entry.CompletedChecksum == step.KeysChecksum {
		// Earlier releases checked only the keys.
		d.keepChecksum(acceptedKeys, step.KeysChecksum)
	}
	switch {
	case entry.CompletedChecksum == step.Checksum && entry.State == v1alpha1.TaskComplete:
	case entry.CompletedChecksum == step.Checksum, d.ranBefore(step, entry, unchanged):
		d.complete(step, entry)
	case d.out.Initial || neverRan && unchanged:
		d.complete(step, entry)
		d.setTaskCondition(step, metav1.ConditionTrue, v1alpha1.ReasonTaskComplete, "No check is required.")
	default:
		d.setDesired(step, entry)
		return false
	}
	return true
}

// ranBefore reports whether the components last ran with the desired inputs, and no check of other keys has started
// since, because a rotation may have followed it. After an upgrade of the operator, the completion of a check that
// covered only the keys counts if no other task is pending.
func (d *decider) ranBefore(step *Step, entry *v1alpha1.TaskRefStatus, unchanged bool) bool {
	last := d.status.LastCompletedChecksums
	if last[acceptedKeys] != step.KeysChecksum {
		return false
	}
	keysOnly := last[step.Kind.Type] == step.KeysChecksum || entry.CompletedChecksum == step.KeysChecksum
	return last[step.Kind.Type] == step.Checksum || unchanged && keysOnly
}

// accept records the inputs that a complete preflight accepted.
func (d *decider) accept(step *Step) {
	d.keepChecksum(acceptedKeys, step.KeysChecksum)
	d.keepChecksum(acceptedSettings, step.SettingsChecksum)
}

// startPreflight records the start of a check. If the keys are not the accepted ones, no keys count as accepted until
// it succeeds.
func (d *decider) startPreflight(step *Step) {
	d.entry(step).CompletedChecksum = ""
	if d.status.LastCompletedChecksums[acceptedKeys] != step.KeysChecksum {
		delete(d.status.LastCompletedChecksums, acceptedKeys)
	}
}

// clearPreflight removes the result of a check that is disabled before it is complete.
func (d *decider) clearPreflight() {
	for _, name := range []string{resolve.Preflight.Type, acceptedKeys, acceptedSettings} {
		delete(d.status.LastCompletedChecksums, name)
	}
}

// clearTasks removes the checksums that the components last ran with. Those that the preflight accepted stay: they
// describe the spec, not the content of the metastore.
func (d *decider) clearTasks() {
	completed := d.status.LastCompletedChecksums
	d.status.LastCompletedChecksums = nil
	for _, name := range []string{acceptedKeys, acceptedSettings} {
		if completed[name] != "" {
			d.keepChecksum(name, completed[name])
		}
	}
}

// jobActive reports whether the Job of a task runs for the desired checksum, or has succeeded and this is not recorded: a new
// preflight does not interrupt it and runs after it.
func (d *decider) jobActive(first int) bool {
	if first == len(d.in.Steps) {
		return false
	}
	step := &d.in.Steps[first]
	job, exists := d.in.Jobs[step.Kind.Slug]
	if !exists || !currentAttempt(d.entry(step), job) {
		return false
	}
	return job.State == JobActive && !job.Deleting || job.State == JobSucceeded && d.entry(step).State == v1alpha1.TaskRunning
}

// preflightPending reports whether the preflight has to run before another task starts.
func (d *decider) preflightPending() bool {
	step := d.preflight()
	return step != nil && d.entry(step).State != v1alpha1.TaskComplete
}

// scaleUp reports whether components that a stop scaled to zero run again although they do not follow the spec: if the preflight
// rejected it, the old version keeps serving. Until then it does not: the data may have been moved to another metastore during the
// stop, and the preflight usually accepts that.
func (d *decider) scaleUp() bool {
	step := d.preflight()
	if step == nil || d.entry(step) == nil || d.entry(step).State != v1alpha1.TaskFailed {
		return false
	}
	return d.out.Mode == Wait && !d.out.Initial && !d.in.Stopped && !d.out.Drain && !d.status.MetastoreChanged
}

// keysVerified reports whether the components may get the desired keys: they were checked, and the stored secrets are
// encrypted with them. Until then the components are not changed at all.
func (d *decider) keysVerified() bool {
	for i := range d.in.Steps {
		step := &d.in.Steps[i]
		entry := d.entry(step)
		done := entry != nil && entry.State == v1alpha1.TaskComplete && entry.CompletedChecksum == step.Checksum
		switch {
		case done:
		case step.Kind.Type == resolve.Rotate.Type:
			return false
		case isPreflight(step.Kind) && !d.accepted(entry, acceptedKeys, step.KeysChecksum):
			return false
		}
	}
	return true
}

// settingsVerified reports whether the components may get the desired configuration, metastore and broker.
func (d *decider) settingsVerified() bool {
	step := d.preflight()
	return step == nil || d.accepted(d.entry(step), acceptedSettings, step.SettingsChecksum)
}

// accepted reports whether the last complete preflight accepted these inputs. Without an earlier check, the inputs
// that the components run with count as accepted.
func (d *decider) accepted(entry *v1alpha1.TaskRefStatus, name, checksum string) bool {
	last := d.status.LastCompletedChecksums
	switch {
	case last[name] != "":
		return last[name] == checksum
	case name == acceptedSettings:
		return true
	case entry == nil:
		return last[resolve.Preflight.Type] == "" || last[resolve.Preflight.Type] == checksum
	default:
		return entry.CompletedChecksum == checksum
	}
}
