package superset

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

// recordEvents emits the events of the decision if this reconcile persisted it.
func (r *Reconciler) recordEvents(_ context.Context, s *reconcileState) (steps.Result, error) {
	if !s.persisted {
		return steps.Result{}, nil
	}
	for _, e := range s.decision.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(s.sup, nil, kind, e.Reason, "Lifecycle", "%s", e.Message)
	}
	return steps.Result{}, nil
}

// emitError emits a Warning event when the reconcile error changes.
func (r *Reconciler) emitError(sup *v1alpha1.Superset, err error) {
	if message, fresh := r.errors.changed(sup, err); fresh {
		r.Recorder.Eventf(sup, nil, corev1.EventTypeWarning, statusevents.EventReconcileError, "Reconcile", "%s", message)
	}
}
