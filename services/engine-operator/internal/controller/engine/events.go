package engine

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

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

// recordDecision emits the events of decisions that need not be transitions: a generation number that names of
// other objects made unusable, with these names, and a status that contradicted the cluster Service.
func (r *Reconciler) recordDecision(before *v1alpha1.FireboltEngine, s *reconcileState) {
	if !s.decided {
		return
	}
	warn := func(note string, args ...any) {
		r.Recorder.Eventf(s.engine, nil, corev1.EventTypeWarning, s.plan.Reason, "Reconcile", note, args...)
	}
	switch {
	case s.plan.Reason == engine.ReasonNameTaken:
		warn("%s belongs to another owner; generation %d is built instead. Remove or rename the object to free its name.",
			strings.Join(s.children.NameConflicts, ", "), s.plan.Next.Current)
	case s.plan.Reason == engine.ReasonInconsistent && equality.Semantic.DeepEqual(before.Status.Transitions, s.engine.Status.Transitions):
		warn("%s", s.plan.Message)
	}
}
