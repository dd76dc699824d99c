package class

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// reconcileDelete removes the finalizer of a deleted class once no engine refers to it. It comes before
// ensureFinalizer, so a deleted class never gets the finalizer back. If the cache has no engine, it lists them from
// the API server, since the cache may lack the latest one.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.class.DeletionTimestamp == nil {
		return steps.Result{}, nil
	}
	if !controllerutil.ContainsFinalizer(s.class, v1alpha1.ClassFinalizer) {
		s.deleted = true
		return steps.Result{Stop: true}, nil
	}
	if _, err := r.countEngines(ctx, s); err != nil || len(s.engines) > 0 {
		return steps.Result{Stop: true}, err // the deletion of the last engine enqueues the class
	}
	live, err := observe.ListReferring(ctx, r.APIReader, observe.IndexClass, client.ObjectKeyFromObject(s.class))
	if err != nil {
		return steps.Result{}, err
	}
	if s.engines = observe.EngineNames(live); len(s.engines) > 0 {
		return steps.Result{Stop: true}, nil // their events enqueue the class
	}
	s.deleted = true
	if err := r.patchFinalizer(ctx, s.class, controllerutil.RemoveFinalizer); client.IgnoreNotFound(err) != nil {
		return steps.Result{}, fmt.Errorf("remove finalizer of class %q: %w", s.class.Name, err)
	}
	return steps.Result{Stop: true}, nil
}

// ensureFinalizer adds the finalizer that keeps a class for its engines.
func (r *Reconciler) ensureFinalizer(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if controllerutil.ContainsFinalizer(s.class, v1alpha1.ClassFinalizer) {
		return steps.Result{}, nil
	}
	if err := r.patchFinalizer(ctx, s.class, controllerutil.AddFinalizer); err != nil {
		if apierrors.IsNotFound(err) {
			return steps.Result{}, errStale
		}
		return steps.Result{}, fmt.Errorf("add finalizer to class %q: %w", s.class.Name, err)
	}
	return steps.Result{}, nil
}

// countEngines lists the engines of the class. It does not copy them: only names are used. A terminating engine counts
// until it no longer exists: its drain reads the class.
func (r *Reconciler) countEngines(ctx context.Context, s *reconcileState) (steps.Result, error) {
	var list v1alpha1.FireboltEngineList
	err := r.Client.List(ctx, &list, client.InNamespace(s.class.Namespace),
		client.MatchingFields{observe.IndexClass: s.class.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return steps.Result{}, fmt.Errorf("list engines of class %q: %w", s.class.Name, err)
	}
	s.engines = observe.EngineNames(list.Items)
	return steps.Result{}, nil
}

// validate checks whether engines can be created from the class.
func (r *Reconciler) validate(_ context.Context, s *reconcileState) (steps.Result, error) {
	s.rejected = validation.Message(validation.Class(s.class))
	s.unsupported = validation.Message(validation.ClassUnsupported(s.class))
	return steps.Result{}, nil
}

func (r *Reconciler) patchFinalizer(ctx context.Context, class *v1alpha1.FireboltEngineClass, change func(client.Object, string) bool) error {
	return mutationcache.Patch(ctx, r.Client, class, func(class *v1alpha1.FireboltEngineClass) { change(class, v1alpha1.ClassFinalizer) })
}
