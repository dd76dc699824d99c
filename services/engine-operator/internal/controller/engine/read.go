package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

func (c *Reconciler) observe(ctx context.Context, p *reconcileState) (steps.Result, error) {
	children, err := observe.Read(ctx, c.Client, p.engine)
	if err != nil {
		return steps.Result{}, err
	}
	children.Past = c.sets.past(p.engine, children)
	p.children, p.observed = children, true
	return steps.Result{}, nil
}

// resolveClass finds the engine's class. An absent one is shown, not an error: the
// watch enqueues the engine when the class appears.
func (c *Reconciler) resolveClass(ctx context.Context, p *reconcileState) (steps.Result, error) {
	ref := p.engine.Spec.EngineClassRef
	if ref == nil {
		return steps.Result{}, nil
	}
	class := &v1alpha1.FireboltEngineClass{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.engine.Namespace, Name: *ref}, class)
	switch {
	case apierrors.IsNotFound(err):
		p.noClass = fmt.Sprintf("FireboltEngineClass %q does not exist.", *ref)
	case err != nil:
		return steps.Result{}, fmt.Errorf("get class %q: %w", *ref, err)
	default:
		p.class = class
	}
	return steps.Result{}, nil
}

// resolveInstance gets the engine's instance and describes what it lacks.
func (c *Reconciler) resolveInstance(ctx context.Context, p *reconcileState) (steps.Result, error) {
	name := p.engine.Spec.InstanceRef
	instance := &v1alpha1.FireboltInstance{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: p.engine.Namespace, Name: name}, instance)
	switch {
	case apierrors.IsNotFound(err):
		p.gate = fmt.Sprintf("FireboltInstance %q does not exist.", name)
		return steps.Result{}, nil
	case err != nil:
		return steps.Result{}, fmt.Errorf("get instance %q: %w", name, err)
	case len(validation.InstanceUnsupported(instance)) > 0:
		p.gate = fmt.Sprintf("FireboltInstance %q: %s", name, validation.Message(validation.InstanceUnsupported(instance)))
	case instance.Spec.ID == "":
		p.gate = fmt.Sprintf("FireboltInstance %q has no id yet.", name)
	case instance.Status.MetadataEndpoint == "":
		p.gate = fmt.Sprintf("FireboltInstance %q has no metadata endpoint yet.", name)
	}
	p.instance = instance
	return steps.Result{}, nil
}

// render draws the current generation, if its inputs are known, and compares it and the
// one that serves with what exists.
func (c *Reconciler) render(_ context.Context, p *reconcileState) (steps.Result, error) {
	var draw func(n int64) (render.Generation, error)
	if p.admitted() {
		e, err := p.resolved()
		if err != nil {
			return steps.Result{}, err
		}
		p.input = render.Input{
			Engine: e, Images: c.Images, Generation: p.plan.Next.Current,
			Instance: render.Instance{ID: p.instance.Spec.ID, Endpoint: p.instance.Status.MetadataEndpoint},
		}
		desired, err := render.Of(p.input)
		if err != nil {
			return steps.Result{}, err
		}
		p.desired = &desired
		draw = func(n int64) (render.Generation, error) {
			if n == p.input.Generation {
				return desired, nil
			}
			in := p.input
			in.Generation = n
			return render.Of(in)
		}
	}
	var err error
	p.snapshot, err = p.children.Snapshot(draw, p.plan.Next.Current, p.plan.Next.Active)
	return steps.Result{}, err
}
