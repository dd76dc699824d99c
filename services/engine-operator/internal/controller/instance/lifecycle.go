package instance

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kubeobserve "github.com/flotilla-dev/flotilla/libs/kube/observe"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// findEngines lists the engines that refer to the instance.
func (c *Controller) findEngines(ctx context.Context, p *pass) (steps.Result, error) {
	err := c.Client.List(ctx, &p.engines, client.InNamespace(p.instance.Namespace),
		client.MatchingFields{c.EngineIndex: p.instance.Name})
	if err != nil {
		return steps.Result{}, fmt.Errorf("list engines of instance %q: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// clean lets go of a deleted instance once no engine refers to it. What it owns goes with
// it by owner reference, but for the volume of its own database.
func (c *Controller) clean(ctx context.Context, p *pass) (steps.Result, error) {
	if p.instance.DeletionTimestamp == nil {
		return steps.Result{}, nil
	}
	if !controllerutil.ContainsFinalizer(p.instance, v1.InstanceFinalizer) {
		p.gone = true
		return steps.Result{Stop: true}, nil
	}
	if n := len(p.engines.Items); n > 0 {
		if _, err := c.observe(ctx, p); err != nil {
			return steps.Result{}, err
		}
		p.reason = v1.ReasonDeletionBlocked
		p.trouble = fmt.Sprintf("The instance is kept until the %d engines that refer to it are deleted, %q among them.", n, p.engines.Items[0].Name)
		return steps.Result{Stop: true}, nil
	}
	p.gone = true
	err := c.patch(ctx, p.instance, func(i *v1.FireboltInstance) { controllerutil.RemoveFinalizer(i, v1.InstanceFinalizer) })
	if client.IgnoreNotFound(err) != nil {
		return steps.Result{}, fmt.Errorf("remove finalizer of instance %q: %w", p.instance.Name, err)
	}
	c.Reporter.Gone(kubeobserve.Object(p.instance, v1.GroupVersion.WithKind("FireboltInstance")))
	return steps.Result{Stop: true}, nil
}

func (c *Controller) protect(ctx context.Context, p *pass) (steps.Result, error) {
	if controllerutil.ContainsFinalizer(p.instance, v1.InstanceFinalizer) {
		return steps.Result{}, nil
	}
	err := c.patch(ctx, p.instance, func(i *v1.FireboltInstance) { controllerutil.AddFinalizer(i, v1.InstanceFinalizer) })
	if err != nil {
		return steps.Result{}, fmt.Errorf("add finalizer to instance %q: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// checkSupport stops the pass for what is paused or not supported; the status stays fresh.
func (c *Controller) checkSupport(_ context.Context, p *pass) (steps.Result, error) {
	p.unsupported = resolve.UnsupportedInstance(p.instance)
	if status.Intent(p.instance).Paused || p.unsupported != "" {
		return steps.Result{Stop: true}, nil
	}
	return steps.Result{}, nil
}

// identify gives the instance an id, once and for all.
func (c *Controller) identify(ctx context.Context, p *pass) (steps.Result, error) {
	if p.instance.Spec.ID != "" {
		return steps.Result{}, nil
	}
	id, err := c.NewID()
	if err != nil {
		return steps.Result{}, fmt.Errorf("make an id for instance %q: %w", p.instance.Name, err)
	}
	if err := c.patch(ctx, p.instance, func(i *v1.FireboltInstance) { i.Spec.ID = id }); err != nil {
		return steps.Result{}, fmt.Errorf("give instance %q its id: %w", p.instance.Name, err)
	}
	return steps.Result{}, nil
}

// patch changes the object by a merge patch that carries the resource version. The
// status that the caller's copy holds stays as it was read.
func (c *Controller) patch(ctx context.Context, i *v1.FireboltInstance, change func(*v1.FireboltInstance)) error {
	before := i.DeepCopy()
	change(i)
	return c.Client.Patch(ctx, i, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
