package instance

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/gateway"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// runDatabase runs the operator's own PostgreSQL, unless the spec names another. It is
// part of the metadata component.
func (c *Reconciler) runDatabase(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if p.instance.Spec.Metadata.Postgres != nil || p.metadata.Failure != nil {
		return steps.Result{}, nil
	}
	desired, err := render.PostgresOf(p.instance, c.Images, p.databaseReplicas)
	if err != nil {
		return steps.Result{}, err
	}
	err = c.ensure(ctx, p, desired.Service, &corev1.Service{})
	if err == nil {
		err = c.workload(ctx, p, workloadSpec{
			desired: desired.StatefulSet, live: present(p.database),
			follows: p.database == nil || ptr.Deref(p.database.Spec.Replicas, 1) == p.databaseReplicas,
		})
	}
	if err != nil {
		return p.handleApplyError(&p.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
	}
	return steps.Result{}, nil
}

// runMetadata runs the metadata service. It does not wait for the database: its pod does.
func (c *Reconciler) runMetadata(ctx context.Context, p *reconcileState) (steps.Result, error) {
	p.metadata.Wanted = true
	if p.metadata.Failure != nil {
		return steps.Result{}, nil
	}
	desired, err := render.MetadataOf(p.instance, c.Images, p.metadata.Replicas)
	if err != nil {
		return steps.Result{}, err
	}
	err = c.ensure(ctx, p, desired.Service, &corev1.Service{})
	if err == nil {
		err = c.workload(ctx, p, workloadSpec{
			desired: desired.Deployment, live: present(p.metadata.Deployment), config: desired.Config,
			follows: follows(p.instance.Spec.Metadata.Template, desired.Deployment, p.metadata.Deployment),
		})
	}
	if err != nil {
		return p.handleApplyError(&p.metadata, v1alpha1.ReasonEnsureFailed, err), nil
	}
	p.metadata.Generation = desired.Deployment.Generation
	if err := c.retireDatabase(ctx, p); err != nil {
		return p.handleApplyError(&p.metadata, v1alpha1.ReasonPostgresEnsureFailed, err), nil
	}
	return steps.Result{}, nil
}

// retireDatabase removes the operator's own database once the metadata service runs on an
// external one. Its volume and its credentials stay, so this can be taken back.
func (c *Reconciler) retireDatabase(ctx context.Context, p *reconcileState) error {
	if p.instance.Spec.Metadata.Postgres == nil || p.database == nil || !movedOn(p.metadata.Deployment, p.metadata.Generation) {
		return nil
	}
	service := &corev1.Service{}
	found, err := c.get(ctx, p, names.Postgres(p.instance.Name), service)
	if err == nil && found {
		err = c.applier.Delete(ctx, service)
	}
	if err != nil {
		return err
	}
	return c.applier.Delete(ctx, p.database)
}

// movedOn reports whether every pod of the Deployment belongs to the applied generation.
func movedOn(d *appsv1.Deployment, applied int64) bool {
	return d != nil && d.Generation == applied && d.Status.ObservedGeneration == applied &&
		d.Status.ReadyReplicas > 0 && d.Status.UpdatedReplicas == d.Status.Replicas && ptr.Deref(d.Status.TerminatingReplicas, 0) == 0
}

// runGateway runs the gateway, whatever becomes of the metadata service: it needs none,
// and a gateway that is left alone while metadata restarts could be neither repaired nor
// scaled.
func (c *Reconciler) runGateway(ctx context.Context, p *reconcileState) (steps.Result, error) {
	p.gateway.Wanted = true
	if p.gateway.Failure != nil {
		return steps.Result{}, nil
	}
	desired, err := gateway.Render(p.instance, c.Images.Gateway, p.gateway.Replicas)
	if err == nil {
		err = render.StampDeployment(desired.Deployment)
	}
	if err != nil {
		t := status.Failure{Reason: v1alpha1.ReasonTemplateRejected, Message: err.Error(), Terminal: true}
		return p.setFailure(&p.gateway, t, 0), nil //nolint:nilerr // the spec can never be rendered: trying again is of no use
	}
	for _, part := range []struct{ desired, empty client.Object }{
		{desired.ServiceAccount, &corev1.ServiceAccount{}}, {desired.Service, &corev1.Service{}}, {desired.Budget, &policyv1.PodDisruptionBudget{}},
	} {
		if err := c.ensure(ctx, p, part.desired, part.empty); err != nil {
			return p.handleApplyError(&p.gateway, v1alpha1.ReasonEnsureFailed, err), nil
		}
	}
	err = c.workload(ctx, p, workloadSpec{
		desired: desired.Deployment, live: present(p.gateway.Deployment), config: desired.Config,
		follows: follows(p.instance.Spec.Gateway.Template, desired.Deployment, p.gateway.Deployment),
	})
	if err != nil {
		return p.handleApplyError(&p.gateway, v1alpha1.ReasonEnsureFailed, err), nil
	}
	p.gateway.Generation = desired.Deployment.Generation
	return steps.Result{}, nil
}

// ensure applies desired; into receives the existing object.
func (c *Reconciler) ensure(ctx context.Context, p *reconcileState, desired, into client.Object) error {
	found, err := c.get(ctx, p, desired.GetName(), into)
	if err != nil {
		return err
	}
	if !found {
		into = nil
	}
	_, err = c.applier.Object(ctx, p.instance, desired, into)
	return err
}

// get reads an object of the instance from the cache; one with another owner is ignored.
func (c *Reconciler) get(ctx context.Context, p *reconcileState, name string, into client.Object) (bool, error) {
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.instance.Namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get %T %q: %w", into, name, err)
	}
	return metav1.IsControlledBy(into, p.instance), nil
}
