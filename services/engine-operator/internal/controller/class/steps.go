package class

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// reconcileDelete removes the finalizer of a deleted class once no engine refers to it. It comes before
// protect, so a deleted class never gets the finalizer back. It counts at the API server,
// since the cache may not know the newest engine yet.
func (c *Reconciler) reconcileDelete(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if p.class.DeletionTimestamp == nil {
		return steps.Result{}, nil
	}
	if !controllerutil.ContainsFinalizer(p.class, v1alpha1.ClassFinalizer) {
		p.gone = true
		return steps.Result{Stop: true}, nil
	}
	var list v1alpha1.FireboltEngineList
	if err := c.APIReader.List(ctx, &list, client.InNamespace(p.class.Namespace)); err != nil {
		return steps.Result{}, fmt.Errorf("list engines of the deleted class %q: %w", p.class.Name, err)
	}
	if p.engines = boundTo(p.class.Name, list.Items); len(p.engines) > 0 {
		return steps.Result{Stop: true}, nil // the deletion of the last engine enqueues the class
	}
	p.gone = true
	if err := c.patchFinalizer(ctx, p.class, controllerutil.RemoveFinalizer); client.IgnoreNotFound(err) != nil {
		return steps.Result{}, fmt.Errorf("remove finalizer of class %q: %w", p.class.Name, err)
	}
	return steps.Result{Stop: true}, nil
}

// ensureFinalizer adds the finalizer that keeps a class for its engines.
func (c *Reconciler) ensureFinalizer(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if controllerutil.ContainsFinalizer(p.class, v1alpha1.ClassFinalizer) {
		return steps.Result{}, nil
	}
	if err := c.patchFinalizer(ctx, p.class, controllerutil.AddFinalizer); err != nil {
		if apierrors.IsNotFound(err) {
			return steps.Result{}, errStale
		}
		return steps.Result{}, fmt.Errorf("add finalizer to class %q: %w", p.class.Name, err)
	}
	return steps.Result{}, nil
}

// count lists the engines of the class. They are read in place: only names are taken.
func (c *Reconciler) count(ctx context.Context, p *reconcileState) (steps.Result, error) {
	var list v1alpha1.FireboltEngineList
	err := c.Client.List(ctx, &list, client.InNamespace(p.class.Namespace),
		client.MatchingFields{c.EngineIndex: p.class.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return steps.Result{}, fmt.Errorf("list engines of class %q: %w", p.class.Name, err)
	}
	p.engines = boundTo(p.class.Name, list.Items)
	return steps.Result{}, nil
}

// judge validates the template: whether engines can be created from the class.
func (c *Reconciler) judge(_ context.Context, p *reconcileState) (steps.Result, error) {
	p.rejected = validation.Message(validation.Class(p.class))
	p.unsupported = validation.Message(validation.ClassUnsupported(p.class))
	return steps.Result{}, nil
}

// boundTo names the engines that refer to the class, in order. An engine that is being
// deleted counts until it is gone: its drain reads the class.
func boundTo(class string, engines []v1alpha1.FireboltEngine) []string {
	var out []string
	for i := range engines {
		if ref := engines[i].Spec.EngineClassRef; ref != nil && *ref == class {
			out = append(out, engines[i].Name)
		}
	}
	slices.Sort(out)
	return out
}

// patchFinalizer changes the finalizers. A conflict means that the cache is stale.
func (c *Reconciler) patchFinalizer(ctx context.Context, class *v1alpha1.FireboltEngineClass, change func(client.Object, string) bool) error {
	err := mutationcache.Patch(ctx, c.Client, class, func(class *v1alpha1.FireboltEngineClass) { change(class, v1alpha1.ClassFinalizer) })
	if apierrors.IsConflict(err) {
		return errStale
	}
	return err
}
