package instance

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	var requeue time.Duration
	if s.shouldStop() {
		s.metadata.Replicas, s.gateway.Replicas = 0, 0
		if s.databaseReplicas, requeue, err = r.databaseAtStop(ctx, s); err != nil {
			return steps.Result{}, err
		}
	}
	if s.instance.Spec.Metadata.Postgres == nil && (s.database == nil || s.database.Status.ReadyReplicas == 0) {
		s.metadata.WaitsFor = ", and neither has its database"
	}
	s.observed = true
	return steps.Result{Requeue: steps.MinRequeue(requeue, steps.MinRequeue(r.findCreateFailure(ctx, s), r.readDatabasePods(ctx, s)))}, nil
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
// metadata service has ended, because the service writes to it. A database that has stopped stays so.
func (r *Reconciler) databaseAtStop(ctx context.Context, s *reconcileState) (replicas int32, requeue time.Duration, err error) {
	d := s.metadata.Deployment
	switch {
	case d == nil:
		return 0, 0, nil
	case ptr.Deref(d.Spec.Replicas, 1) > 0 || d.Status.ObservedGeneration < d.Generation || d.Status.Replicas > 0:
		return 1, 0, nil
	case s.database == nil || ptr.Deref(s.database.Spec.Replicas, 1) == 0:
		return 0, 0, nil
	}
	terminating, err := r.isTerminating(ctx, d)
	if terminating || err != nil {
		return 1, requeuePods, err
	}
	return 0, 0, nil
}

// isTerminating reports whether the Deployment has pods that terminate. Before Kubernetes 1.35, its status does not
// count them, and its pods are listed.
func (r *Reconciler) isTerminating(ctx context.Context, d *appsv1.Deployment) (bool, error) {
	if n := d.Status.TerminatingReplicas; n != nil {
		return *n > 0, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return false, fmt.Errorf("read selector of deployment %q: %w", d.Name, err)
	}
	pods := &corev1.PodList{}
	if err := r.APIReader.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return false, fmt.Errorf("list pods of deployment %q: %w", d.Name, err)
	}
	return hasUncounted(pods.Items, d.Status.Replicas), nil
}

// hasUncounted reports whether pods have not ended that are terminating, or exceed those that a status counts.
func hasUncounted(pods []corev1.Pod, counted int32) bool {
	var running int32
	for i := range pods {
		if phase := pods[i].Status.Phase; phase == corev1.PodFailed || phase == corev1.PodSucceeded {
			continue
		}
		if pods[i].DeletionTimestamp != nil {
			return true
		}
		running++
	}
	return running > counted
}
