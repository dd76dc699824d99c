package lifecycle

import "github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"

// recordDowntime records when the components are removed for tasks, and the parts of that time.
func (d *decider) recordDowntime() {
	current := d.status.Downtime
	if current == nil || current.EndedAt != nil {
		if d.out.Drain {
			d.status.Downtime = &v1alpha1.DowntimeStatus{StartedAt: d.now()}
		}
		return
	}
	w, restoring := d.in.Workloads, !started(d.status) && d.out.Mode != Wait
	if current.DrainedAt == nil && w.absent() {
		current.DrainedAt = d.now()
	}
	if current.DrainedAt != nil && current.TasksCompletedAt == nil && restoring {
		current.TasksCompletedAt = d.now()
	}
	if restoring && (w.WebReady || !w.WebDesired) {
		current.EndedAt = d.now()
	}
}
