package instance

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// findEngines lists the engines that refer to the instance.
func (c *Reconciler) findEngines(ctx context.Context, p *reconcileState) (steps.Result, error) {
	err := c.Client.List(ctx, &p.engines, client.InNamespace(p.instance.Namespace),
		client.MatchingFields{c.EngineIndex: p.instance.Name})
	if err != nil {
		return steps.Result{}, fmt.Errorf("list engines of instance %q: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// reconcileDelete removes the finalizer of a deleted instance once no engine refers to it. Its
// children are garbage-collected; the volume of its own database and the credentials stay.
//
// Until then the instance is reconciled as usual, since its engines still depend on it. Only when
// it is deleted in the foreground (kubectl --cascade=foreground) are children that
// Kubernetes deletes not created again.
func (c *Reconciler) reconcileDelete(ctx context.Context, p *reconcileState) (steps.Result, error) {
	i := p.instance
	if i.DeletionTimestamp == nil {
		return steps.Result{}, nil
	}
	if !controllerutil.ContainsFinalizer(i, v1alpha1.InstanceFinalizer) {
		p.gone = true
		return steps.Result{Stop: true}, nil
	}
	if n := len(p.engines.Items); n > 0 {
		p.trouble = &status.Failure{Reason: v1alpha1.ReasonDeletionBlocked, Message: blocked(p.engines.Items)}
		if !slices.Contains(i.Finalizers, metav1.FinalizerDeleteDependents) {
			return steps.Result{}, nil
		}
		_, err := c.observe(ctx, p)
		return steps.Result{Stop: true}, err
	}
	if err := c.keepCredentials(ctx, p); err != nil {
		return steps.Result{}, err
	}
	p.gone = true
	err := c.patch(ctx, i, func(i *v1alpha1.FireboltInstance) { controllerutil.RemoveFinalizer(i, v1alpha1.InstanceFinalizer) })
	if client.IgnoreNotFound(err) != nil {
		return steps.Result{}, fmt.Errorf("remove finalizer of instance %q: %w", i.Name, err)
	}
	metrics.DeleteInstance(client.ObjectKeyFromObject(i))
	c.Reporter.Gone(workload.Object(i, v1alpha1.GroupVersion.WithKind("FireboltInstance")))
	return steps.Result{Stop: true}, nil
}

// blocked names the engines in the way, a few of them.
func blocked(engines []v1alpha1.FireboltEngine) string {
	const most = 3
	var list []string
	for i := range engines {
		list = append(list, engines[i].Name)
	}
	slices.Sort(list)
	if len(list) == 1 {
		return fmt.Sprintf("The instance is kept until engine %q, which refers to it, is deleted.", list[0])
	}
	return fmt.Sprintf("The instance is kept until the %d engines that refer to it are deleted, %q among them.", len(list), list[:min(most, len(list))])
}

// checkPause ends the reconcile of a paused instance; its status stays fresh.
func (*Reconciler) checkPause(_ context.Context, p *reconcileState) (steps.Result, error) {
	return steps.Result{Stop: status.Intent(p.instance).Paused}, nil
}

// checkSupport rejects features that this release lacks. Nothing is created, and running
// workloads of an earlier operator are not changed.
func (*Reconciler) checkSupport(_ context.Context, p *reconcileState) (steps.Result, error) {
	mistakes := validation.InstanceUnsupported(p.instance)
	if len(mistakes) == 0 {
		return steps.Result{}, nil
	}
	p.judged = true
	if p.trouble == nil {
		p.trouble = &status.Failure{Reason: v1alpha1.ReasonNotSupported, Message: validation.Message(mistakes), Terminal: true}
	}
	return steps.Result{Stop: true}, nil
}

// ensureFinalizer adds the finalizer, never to an object that is being deleted: the API server
// would reject it every time.
func (c *Reconciler) ensureFinalizer(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if p.instance.DeletionTimestamp != nil || controllerutil.ContainsFinalizer(p.instance, v1alpha1.InstanceFinalizer) {
		return steps.Result{}, nil
	}
	err := c.patch(ctx, p.instance, func(i *v1alpha1.FireboltInstance) { controllerutil.AddFinalizer(i, v1alpha1.InstanceFinalizer) })
	if err != nil {
		return steps.Result{}, fmt.Errorf("add finalizer to instance %q: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// identify gives the instance an id, once and for all: the one that its database was
// written under, when an instance of the name existed before, else a new one.
func (c *Reconciler) identify(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if p.instance.Spec.ID != "" {
		return steps.Result{}, nil
	}
	id, err := c.formerID(ctx, p)
	if err != nil {
		return steps.Result{}, err
	}
	if id == "" {
		if id, err = c.NewID(); err != nil {
			return steps.Result{}, fmt.Errorf("make an id for instance %q: %w", p.instance.Name, err)
		}
	}
	if err := c.patch(ctx, p.instance, func(i *v1alpha1.FireboltInstance) { i.Spec.ID = id }); err != nil {
		return steps.Result{}, fmt.Errorf("give instance %q its id: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// admit rejects components whose part of the spec is invalid. A rejected component stays as
// it is; the other one is still reconciled.
func (*Reconciler) admit(_ context.Context, p *reconcileState) (steps.Result, error) {
	for _, part := range []struct {
		component *status.Component
		mistakes  field.ErrorList
	}{{&p.metadata, validation.InstanceMetadata(p.instance)}, {&p.gateway, validation.InstanceGateway(p.instance)}} {
		if len(part.mistakes) > 0 {
			p.setFailure(part.component, status.Failure{
				Reason: v1alpha1.ReasonTemplateRejected, Message: validation.Message(part.mistakes), Terminal: true,
			}, 0)
		}
	}
	return steps.Result{}, nil
}

func (c *Reconciler) patch(ctx context.Context, i *v1alpha1.FireboltInstance, change func(*v1alpha1.FireboltInstance)) error {
	return mutationcache.Patch(ctx, c.Client, i, change, client.FieldOwner(names.FieldManager))
}
