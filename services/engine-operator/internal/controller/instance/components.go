package instance

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/adopt"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/gateway"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// runDatabase runs the operator's own PostgreSQL, unless the spec sets an external database. It
// belongs to the metadata component.
func (r *Reconciler) runDatabase(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.instance.Spec.Metadata.Postgres != nil || s.metadata.Failure != nil {
		return steps.Result{}, nil
	}
	desired, former, err := adopt.Database(s.instance, r.Images, s.databaseReplicas, s.database)
	if err != nil {
		return steps.Result{}, err
	}
	w := workloadSpec{
		desired: desired.StatefulSet, live: present(s.database), formerHash: former,
		matchesSpec: s.database == nil || ptr.Deref(s.database.Spec.Replicas, 1) == s.databaseReplicas,
	}
	if adopt.IsAdopted(s.database) {
		w.options = []apply.Option{apply.WithOptimisticLock()} // it keeps fields of the live one
	}
	if err = r.ensure(ctx, s, desired.Service, &corev1.Service{}); err == nil {
		err = r.workload(ctx, s, w)
	}
	var requeue time.Duration
	if err == nil {
		requeue, err = r.replaceBrokenPod(ctx, s)
	}
	if err != nil {
		return s.handleApplyError(&s.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
	}
	return steps.Result{Requeue: requeue}, nil
}

// runMetadata runs the metadata service. It does not wait for the database: its pod does.
func (r *Reconciler) runMetadata(ctx context.Context, s *reconcileState) (steps.Result, error) {
	s.metadata.Desired = true
	if s.metadata.Failure != nil {
		return steps.Result{}, nil
	}
	desired, err := render.MetadataOf(s.instance, r.Images, s.metadata.Replicas, r.ListenAddress)
	if err != nil {
		return steps.Result{}, err
	}
	err = r.ensure(ctx, s, desired.Service, &corev1.Service{})
	matches := matchesSpec(s.instance.Spec.Metadata.Template, desired.Deployment, s.metadata.Deployment)
	if err == nil && matches {
		matches, err = r.matchesDatabase(ctx, s)
	}
	if err == nil {
		err = r.workload(ctx, s, workloadSpec{
			desired: desired.Deployment, live: present(s.metadata.Deployment), config: desired.Config, matchesSpec: matches,
		})
	}
	if err != nil {
		return s.handleApplyError(&s.metadata, v1alpha1.ReasonEnsureFailed, err), nil
	}
	s.metadata.Generation = desired.Deployment.Generation
	requeue, err := r.retireDatabase(ctx, s)
	if err != nil {
		return s.handleApplyError(&s.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
	}
	return steps.Result{Requeue: requeue}, nil
}

// retireDatabase deletes the operator's own database once the metadata service runs on an
// external one. Its volume and its credentials stay, so the change can be reverted.
func (r *Reconciler) retireDatabase(ctx context.Context, s *reconcileState) (requeue time.Duration, err error) {
	d := s.metadata.Deployment
	if s.instance.Spec.Metadata.Postgres == nil || s.database == nil || s.volumeAtRisk || !isRolledOut(d, s.metadata.Generation) {
		return 0, nil
	}
	if terminating, err := r.isTerminating(ctx, d); terminating || err != nil {
		return requeuePods, err
	}
	service := &corev1.Service{}
	found, err := r.get(ctx, s, names.Postgres(s.instance.Name), service)
	if err == nil && found {
		err = r.applier.Delete(ctx, service)
	}
	if err != nil {
		return 0, err
	}
	return 0, r.applier.Delete(ctx, s.database)
}

// isRolledOut reports whether every pod of the Deployment that does not terminate belongs to the applied generation.
func isRolledOut(d *appsv1.Deployment, applied int64) bool {
	return d != nil && d.Generation == applied && d.Status.ObservedGeneration == applied &&
		d.Status.ReadyReplicas > 0 && d.Status.UpdatedReplicas == d.Status.Replicas
}

// runGateway runs the gateway independently of the metadata service: otherwise
// a gateway could be neither repaired nor scaled while the metadata service
// restarts.
func (r *Reconciler) runGateway(ctx context.Context, s *reconcileState) (steps.Result, error) {
	s.gateway.Desired = true
	if s.gateway.Failure != nil {
		return steps.Result{}, nil
	}
	desired, err := gateway.Render(s.instance, r.Images.Gateway, s.gateway.Replicas, r.ListenAddress)
	if err == nil {
		err = render.AnnotateDeployment(desired.Deployment)
	}
	if err != nil {
		return s.setFailure(&s.gateway, status.NewRejection(err.Error()), 0), nil
	}
	for _, part := range []struct{ desired, empty client.Object }{
		{desired.ServiceAccount, &corev1.ServiceAccount{}}, {desired.Service, &corev1.Service{}}, {desired.Budget, &policyv1.PodDisruptionBudget{}},
	} {
		if err := r.ensure(ctx, s, part.desired, part.empty); err != nil {
			return s.handleApplyError(&s.gateway, v1alpha1.ReasonEnsureFailed, err), nil
		}
	}
	err = r.workload(ctx, s, workloadSpec{
		desired: desired.Deployment, live: present(s.gateway.Deployment), config: desired.Config,
		matchesSpec: matchesSpec(s.instance.Spec.Gateway.Template, desired.Deployment, s.gateway.Deployment),
	})
	if err != nil {
		return s.handleApplyError(&s.gateway, v1alpha1.ReasonEnsureFailed, err), nil
	}
	s.gateway.Generation = desired.Deployment.Generation
	return steps.Result{}, nil
}

// ensure applies desired and stores the existing object in into.
func (r *Reconciler) ensure(ctx context.Context, s *reconcileState, desired, into client.Object) error {
	found, err := r.get(ctx, s, desired.GetName(), into)
	if err != nil {
		return err
	}
	if !found {
		into = nil
	}
	_, err = r.applier.Object(ctx, s.instance, desired, into)
	return err
}

// get reads an object of the instance from the cache; one with another owner is ignored.
func (r *Reconciler) get(ctx context.Context, s *reconcileState, name string, into client.Object) (bool, error) {
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.instance.Namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get %T %q: %w", into, name, err)
	}
	return metav1.IsControlledBy(into, s.instance), nil
}
