package engine

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/statusevents"
)

// recordEvents emits the events of a status change after its write.
func (r *Reconciler) recordEvents(before, after *v1alpha1.FireboltEngine) {
	metrics.Engine(before, after, r.Clock.Now())
	for _, e := range statusevents.Engine(before, after) {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(after, nil, kind, e.Reason, "Reconcile", "%s", e.Message)
	}
}

// recordNameConflict emits an event with the names of the objects that made a generation number unusable.
func (r *Reconciler) recordNameConflict(s *reconcileState) {
	if s.decided && s.plan.Reason == engine.ReasonNameTaken {
		r.Recorder.Eventf(s.engine, nil, corev1.EventTypeWarning, engine.ReasonNameTaken, "Reconcile",
			"%s belongs to another owner; generation %d is built instead. Remove or rename the object to free its name.",
			strings.Join(s.children.NameConflicts, ", "), s.plan.Next.Current)
	}
}
