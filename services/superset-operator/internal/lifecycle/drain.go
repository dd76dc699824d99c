package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// drained reports whether the components allow a task to start. If not, it takes the next action: start the
// maintenance page, route traffic to it, and only then delete the components. It depends on what exists, not on the
// spec, so components that were just removed from the spec count too.
func (p *pass) drained(step *Step) bool {
	w := p.in.Workloads
	began := p.was.Phase == v1alpha1.LifecycleDraining
	if !step.RequiresDrain && (!began || isPreflight(step.Kind)) {
		return true
	}
	if len(w.Strangers) > 0 {
		p.refuse(step, w.Strangers)
		return false
	}
	if w.absent() {
		if began {
			p.normal(EventDrainingCompleted, "The components are gone")
		}
		return true
	}
	p.status.Phase = v1alpha1.LifecycleDraining
	if !p.behindPage(step, began) {
		return false
	}
	p.out.Drain = true
	p.at(step, v1alpha1.ReasonDraining, "Removing the components before task "+step.Kind.Word)
	return false
}

// strangerPause is when to check foreign objects again: their deletion triggers no reconcile.
const strangerPause = 10 * time.Second

// refuse keeps the components while a foreign object has their labels: it may use the metastore, and no drain removes
// it.
func (p *pass) refuse(step *Step, strangers []string) {
	message := fmt.Sprintf("Task %s does not start beside %s, which bears the labels of this Superset and is not its own: "+
		"delete it or change its label %s", step.Kind.Word, strings.Join(strangers[:min(len(strangers), 3)], ", "), v1alpha1.LabelInstance)
	if p.was.Phase != v1alpha1.LifecycleBlocked {
		p.warning(EventNotOwned, "%s", message)
	}
	p.at(step, v1alpha1.ReasonNotOwned, message)
	p.status.Phase, p.out.Phase = v1alpha1.LifecycleBlocked, v1alpha1.PhaseBlocked
	p.next(p.in.Now.Add(strangerPause))
	p.hold()
}

// behindPage reports whether the components may be deleted: the maintenance page receives the traffic, or there is no
// page, or there is no web server with traffic.
func (p *pass) behindPage(step *Step, began bool) bool {
	page := p.in.Page
	if !page.Configured || !p.in.Workloads.WebExists && !p.status.MaintenanceActive {
		if !began {
			p.draining(step)
		}
		return true
	}
	switch {
	case p.status.MaintenanceActive:
		if !began {
			p.draining(step)
		}
	case page.Ready:
		p.status.MaintenanceActive = true
		p.normal(EventMaintenanceStarted, "The maintenance page takes the traffic of the web server")
		p.draining(step)
	default:
		p.out.Page = true
		message := "Waiting for the maintenance page"
		if page.Problem != "" {
			message += ": " + page.Problem
		}
		p.at(step, v1alpha1.ReasonDraining, message)
		return false
	}
	if !page.Routed {
		p.at(step, v1alpha1.ReasonDraining, "Waiting for the Service to lead to the maintenance page")
	}
	return page.Routed
}

func (p *pass) draining(step *Step) {
	p.normal(EventDrainingStarted, "The components are removed before task %s", step.Kind.Word)
}

// endMaintenance routes traffic back to the web server when it is ready, when the spec has no web server pods, and
// when it has no maintenance page.
func (p *pass) endMaintenance() {
	if !p.status.MaintenanceActive {
		return
	}
	w, page := p.in.Workloads, p.in.Page
	serving := p.out.Mode != Wait && w.WebReady
	none := p.out.Mode == Apply && !w.WebWanted
	if page.Configured && !serving && !none {
		return
	}
	p.status.MaintenanceActive = false
	p.normal(EventMaintenanceEnded, "The traffic of the web server goes back to it")
}
