package instance

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/gateway"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// observe reads the existing objects and computes the desired replicas.
func (r *Reconciler) observe(ctx context.Context, s *reconcileState) (steps.Result, error) {
	for name, into := range map[string]**appsv1.Deployment{
		names.Metadata(s.instance.Name): &s.metadata.Deployment, names.Gateway(s.instance.Name): &s.gateway.Deployment,
	} {
		d := &appsv1.Deployment{}
		found, err := r.get(ctx, s, name, d)
		if err != nil {
			return steps.Result{}, err
		}
		if found {
			*into = d
		}
	}
	database := &appsv1.StatefulSet{}
	found, err := r.get(ctx, s, names.Postgres(s.instance.Name), database)
	if err != nil {
		return steps.Result{}, err
	}
	if found {
		s.database = database
	}
	s.metadata.Replicas, s.gateway.Replicas, s.databaseReplicas = 1, gateway.EffectiveReplicas(s.instance), 1
	if s.shouldStop() {
		s.metadata.Replicas, s.gateway.Replicas, s.databaseReplicas = 0, 0, databaseAtStop(s.metadata.Deployment)
	}
	if s.instance.Spec.Metadata.Postgres == nil && (s.database == nil || s.database.Status.ReadyReplicas == 0) {
		s.metadata.WaitsFor = ", and neither has its database"
	}
	s.observed = true
	return steps.Result{Requeue: r.findCreateFailure(ctx, s)}, nil
}

// findCreateFailure determines why the database has no pod, and returns the delay of the next check.
// A failure is logged, and the reconcile continues.
func (r *Reconciler) findCreateFailure(ctx context.Context, s *reconcileState) time.Duration {
	if s.database == nil || s.database.DeletionTimestamp != nil || s.database.Status.Replicas >= ptr.Deref(s.database.Spec.Replicas, 1) {
		return 0
	}
	message, requeueAfter, err := r.creation.Find(ctx, s.database)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to read events", "statefulset", s.database.Name)
		metrics.EventReadFailed()
	}
	if message != "" {
		s.databaseFailure = message
		s.metadata.WaitsFor = ". Kubernetes creates no pod for its database: " + message
	}
	return requeueAfter
}

// shouldStop reports whether the instance scales to zero: a user requested the stop and every engine
// has stopped. A stopped instance stays stopped when engines are created.
func (s *reconcileState) shouldStop() bool {
	if !status.Intent(s.instance).Stopped {
		return false
	}
	d := s.metadata.Deployment
	return d == nil || ptr.Deref(d.Spec.Replicas, 1) == 0 || enginesStopped(s.engines.Items)
}

func enginesStopped(engines []v1alpha1.FireboltEngine) bool {
	for i := range engines {
		if engines[i].Status.Phase != v1alpha1.PhaseStopped {
			return false
		}
	}
	return true
}

// databaseAtStop returns the replicas of the database, which runs until the last pod of the
// metadata service has ended, because the service writes to it.
func databaseAtStop(metadata *appsv1.Deployment) int32 {
	if metadata == nil {
		return 0
	}
	s := metadata.Status
	if ptr.Deref(metadata.Spec.Replicas, 1) > 0 || s.ObservedGeneration < metadata.Generation ||
		s.Replicas > 0 || ptr.Deref(s.TerminatingReplicas, 0) > 0 {
		return 1
	}
	return 0
}
