package engine

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// reconcileDelete deletes all children of a deleted engine, then removes its finalizer. It attempts
// every deletion, and keeps the finalizer if one of them fails. It runs before ensureFinalizer,
// so a deleted engine never gets the finalizer back.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.engine.DeletionTimestamp == nil {
		return steps.Result{}, nil
	}
	s.deleted = true
	if !controllerutil.ContainsFinalizer(s.engine, v1alpha1.EngineFinalizer) {
		return steps.Result{Stop: true}, nil
	}
	children, err := observe.Read(ctx, r.Client, s.engine)
	if err != nil {
		return steps.Result{}, err
	}
	foreground := apply.WithPropagation(metav1.DeletePropagationForeground)
	var failed []error
	for _, set := range children.StatefulSets {
		failed = append(failed, r.applier.Delete(ctx, set.DeepCopy(), foreground))
	}
	for _, service := range children.Headless {
		failed = append(failed, r.applier.Delete(ctx, service.DeepCopy()))
	}
	for _, config := range children.Configs {
		failed = append(failed, r.applier.Delete(ctx, config.DeepCopy()))
	}
	if children.Cluster != nil {
		failed = append(failed, r.applier.Delete(ctx, children.Cluster.DeepCopy()))
	}
	if err := errors.Join(failed...); err != nil {
		return steps.Result{}, fmt.Errorf("delete children of engine %q: %w", s.engine.Name, err)
	}
	s.children = children
	if err := r.reportForeignFinalizers(ctx, s, children.Held()); err != nil {
		return steps.Result{}, err
	}
	err = r.patchFinalizer(ctx, s.engine, controllerutil.RemoveFinalizer)
	if client.IgnoreNotFound(err) != nil {
		return steps.Result{}, fmt.Errorf("remove finalizer of engine %q: %w", s.engine.Name, err)
	}
	r.uids.Remove(client.ObjectKeyFromObject(s.engine))
	return steps.Result{Stop: true}, nil
}

// track records the UID of an engine, until the operator removes its finalizer.
func (r *Reconciler) track(e *v1alpha1.FireboltEngine) {
	if e.DeletionTimestamp == nil || controllerutil.ContainsFinalizer(e, v1alpha1.EngineFinalizer) {
		r.uids.Record(workload.Object(e, v1alpha1.GroupVersion.WithKind("FireboltEngine")))
	}
}

// forgetName drops the state of an engine that does not exist. It is still recorded if another client removed the finalizer.
func (r *Reconciler) forgetName(key types.NamespacedName) {
	r.tracer.Forget(key)
	r.written.Forget(key)
	metrics.DeleteEngine(key)
	r.uids.Remove(key)
}

// forget drops the state of a deleted engine, and publishes its deletion.
func (r *Reconciler) forget(o contract.Object) {
	uid := types.UID(o.UID)
	r.drains.Forget(uid)
	r.limiter.Release(uid)
	r.warnings.Forget(uid)
	r.sets.Forget(uid)
	metrics.DeleteEngine(types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
	r.Reporter.Delete(o)
}

// reportForeignFinalizers reports that foreign finalizers hold children. They do not block the
// engine: its children are deleted, and only the owners of the finalizers can complete the deletion.
func (r *Reconciler) reportForeignFinalizers(ctx context.Context, s *reconcileState, held []string) error {
	if len(held) == 0 {
		return nil
	}
	s.held = status.ChildrenHeld(held)
	outcome := s.outcome()
	before := s.engine.DeepCopy()
	changed, err := r.status.Apply(ctx, s.engine, outcome.Next(r.Clock.Now()))
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if changed {
		r.recordEvents(before, s.engine)
	}
	return nil
}

// ensureFinalizer adds the finalizer, also to a paused engine: its deletion needs the cleanup too.
func (r *Reconciler) ensureFinalizer(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if controllerutil.ContainsFinalizer(s.engine, v1alpha1.EngineFinalizer) {
		return steps.Result{}, nil
	}
	if err := r.patchFinalizer(ctx, s.engine, controllerutil.AddFinalizer); err != nil {
		return steps.Result{}, fmt.Errorf("add finalizer to engine %q: %w", s.engine.Name, err)
	}
	return steps.Result{}, nil
}

func (r *Reconciler) patchFinalizer(ctx context.Context, e *v1alpha1.FireboltEngine, change func(client.Object, string) bool) error {
	return mutationcache.Patch(ctx, r.Client, e, func(e *v1alpha1.FireboltEngine) { change(e, v1alpha1.EngineFinalizer) })
}
