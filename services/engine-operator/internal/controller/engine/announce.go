package engine

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/report"
)

// announce tells of what a status write changed, once it is written.
func (c *Controller) announce(before, after *v1.FireboltEngine) {
	metrics.Engine(before, after, c.Clock.Now())
	for _, e := range report.Engine(before, after) {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		c.Recorder.Eventf(after, nil, kind, e.Reason, "Reconcile", "%s", e.Message)
	}
}

// announceTaken emits an event that names the objects because of which a number was given up.
func (c *Controller) announceTaken(p *pass) {
	if p.decided && p.plan.Reason == engine.ReasonNameTaken {
		c.Recorder.Eventf(p.engine, nil, corev1.EventTypeWarning, engine.ReasonNameTaken, "Reconcile",
			"%s belongs to another owner; generation %d is built instead. Remove or rename the object to free its name.",
			strings.Join(p.children.Taken, ", "), p.plan.Next.Current)
	}
}
