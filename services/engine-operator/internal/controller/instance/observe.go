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

// observe reads what exists, and decides how many replicas there should be.
func (c *Reconciler) observe(ctx context.Context, p *reconcileState) (steps.Result, error) {
	for name, into := range map[string]**appsv1.Deployment{
		names.Metadata(p.instance.Name): &p.metadata.Deployment, names.Gateway(p.instance.Name): &p.gateway.Deployment,
	} {
		d := &appsv1.Deployment{}
		found, err := c.get(ctx, p, name, d)
		if err != nil {
			return steps.Result{}, err
		}
		if found {
			*into = d
		}
	}
	database := &appsv1.StatefulSet{}
	found, err := c.get(ctx, p, names.Postgres(p.instance.Name), database)
	if err != nil {
		return steps.Result{}, err
	}
	if found {
		p.database = database
	}
	p.metadata.Replicas, p.gateway.Replicas, p.databaseReplicas = 1, gateway.EffectiveReplicas(p.instance), 1
	if p.stops() {
		p.metadata.Replicas, p.gateway.Replicas, p.databaseReplicas = 0, 0, databaseAtStop(p.metadata.Deployment)
	}
	if p.instance.Spec.Metadata.Postgres == nil && (p.database == nil || p.database.Status.ReadyReplicas == 0) {
		p.metadata.Waits = ", and neither has its database"
	}
	p.observed = true
	return steps.Result{Requeue: c.findCreateFailure(ctx, p)}, nil
}

// findCreateFailure determines why the database has no pod, and returns the delay of the next check.
// It is a help, never an obstacle: a failure is logged.
func (c *Reconciler) findCreateFailure(ctx context.Context, p *reconcileState) time.Duration {
	if p.database == nil || p.database.DeletionTimestamp != nil || p.database.Status.Replicas >= ptr.Deref(p.database.Spec.Replicas, 1) {
		return 0
	}
	answer, again, err := c.creation.Find(ctx, p.database)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to read events", "statefulset", p.database.Name)
		metrics.EventReadFailed()
	}
	if answer != "" {
		p.databaseFailure = answer
		p.metadata.Waits = ". Kubernetes creates no pod for its database: " + answer
	}
	return again
}

// stops reports whether the instance is to be at zero: a user requested it and every engine
// has stopped. Once it is there it stays there, whatever engines are made.
func (p *reconcileState) stops() bool {
	if !status.Intent(p.instance).Stopped {
		return false
	}
	d := p.metadata.Deployment
	return d == nil || ptr.Deref(d.Spec.Replicas, 1) == 0 || enginesStopped(p.engines.Items)
}

func enginesStopped(engines []v1alpha1.FireboltEngine) bool {
	for i := range engines {
		if engines[i].Status.Phase != v1alpha1.PhaseStopped {
			return false
		}
	}
	return true
}

// databaseAtStop keeps the database until the last pod of the metadata service, which
// writes to it, is gone.
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
