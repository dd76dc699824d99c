package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

// drained reports whether the components allow a task to start. If not, it takes the next action: start the
// maintenance page, route traffic to it, and only then delete the components. It depends on what exists, not on the
// spec, so components that were just removed from the spec count too.
func (d *decider) drained(step *Step) bool {
	w := d.in.Workloads
	draining := d.previous.Phase == v1alpha1.LifecycleDraining
	if !step.RequiresDrain && (!draining || isPreflight(step.Kind)) {
		return true
	}
	if len(w.Foreign)+len(w.Unmanaged) > 0 {
		d.blockForeign(step, w)
		return false
	}
	if w.absent() {
		if draining {
			d.normal(statusevents.EventDrainingCompleted, "All components are removed.")
		}
		return true
	}
	d.status.Phase = v1alpha1.LifecycleDraining
	if !d.mayRemove(step, draining) {
		return false
	}
	d.out.Drain = true
	d.setConditions(step, v1alpha1.ReasonDraining, fmt.Sprintf("Removing the components before task %s.", step.Kind.Slug))
	return false
}

// requeueForeign is the interval of the checks for foreign objects, whose deletion does not trigger a reconcile.
const requeueForeign = 10 * time.Second

// blockForeign keeps the components while an object that no drain removes has their labels: it may use the metastore.
func (d *decider) blockForeign(step *Step, w Workloads) {
	format, objects := "Task %s does not start: these objects have the labels of this Superset but another owner: %s. "+
		"Delete them or change their label "+v1alpha1.LabelInstance+".", w.Foreign
	if len(objects) == 0 {
		format, objects = "Task %s does not start: these objects of this Superset belong to no component of this release of the operator: %s. "+
			"Delete them.", w.Unmanaged
	}
	message := fmt.Sprintf(format, step.Kind.Slug, strings.Join(objects[:min(len(objects), 3)], ", "))
	if completeReason(d.entry(step)) != v1alpha1.ReasonNotOwned {
		d.warning(statusevents.EventNotOwned, "%s", message)
	}
	d.setConditions(step, v1alpha1.ReasonNotOwned, message)
	d.status.Phase, d.out.Phase = v1alpha1.LifecycleBlocked, v1alpha1.PhaseBlocked
	d.requeueAt(d.in.Now.Add(requeueForeign))
	d.allowHold()
}

// mayRemove reports whether the components may be deleted: the maintenance page receives the traffic, or there is no
// page, or there is no web server with traffic.
func (d *decider) mayRemove(step *Step, draining bool) bool {
	page := d.in.Page
	if !page.Configured || !d.in.Workloads.WebExists && !d.status.MaintenanceActive {
		if !draining {
			d.startDrain(step)
		}
		return true
	}
	switch {
	case d.status.MaintenanceActive:
		if !draining {
			d.startDrain(step)
		}
	case page.Ready:
		d.status.MaintenanceActive = true
		d.normal(statusevents.EventMaintenanceStarted, "Traffic is routed to the maintenance page.")
		d.startDrain(step)
	default:
		d.out.Page = true
		message := "Waiting for the maintenance page."
		if page.Failure != "" {
			message = "Waiting for the maintenance page: " + sentence(page.Failure)
		}
		d.setConditions(step, v1alpha1.ReasonDraining, message)
		return false
	}
	if !page.Routed {
		d.setConditions(step, v1alpha1.ReasonDraining, "Waiting for the Service to select the maintenance page.")
	}
	return page.Routed
}

func (d *decider) startDrain(step *Step) {
	d.normal(statusevents.EventDrainingStarted, "The components are removed before task %s.", step.Kind.Slug)
}

// endMaintenance routes traffic back to the web server when it is ready, when the spec has no web server pods, and
// when it has no maintenance page.
func (d *decider) endMaintenance() {
	if !d.status.MaintenanceActive {
		return
	}
	w, page := d.in.Workloads, d.in.Page
	serving := d.out.Mode != Wait && w.WebReady
	noWebServer := d.out.Mode == Apply && !w.WebDesired
	if page.Configured && !serving && !noWebServer {
		return
	}
	d.status.MaintenanceActive = false
	d.normal(statusevents.EventMaintenanceEnded, "Traffic is routed to the web server again.")
}
