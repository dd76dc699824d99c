package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
)

// reconcileDelete deletes all children of a deleted engine, then removes its finalizer. Every deletion is
// tried; the finalizer stays while one of them fails. It comes before protect, so a
// deleted engine never gets the finalizer back.
func (c *Reconciler) reconcileDelete(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if p.engine.DeletionTimestamp == nil {
		return steps.Result{}, nil
	}
	p.gone = true
	if !controllerutil.ContainsFinalizer(p.engine, v1alpha1.EngineFinalizer) {
		return steps.Result{Stop: true}, nil
	}
	children, err := observe.Read(ctx, c.Client, p.engine)
	if err != nil {
		return steps.Result{}, err
	}
	foreground := apply.WithPropagation(metav1.DeletePropagationForeground)
	var failed []error
	for _, set := range children.StatefulSets {
		failed = append(failed, c.applier.Delete(ctx, set.DeepCopy(), foreground))
	}
	for _, s := range children.Headless {
		failed = append(failed, c.applier.Delete(ctx, s.DeepCopy()))
	}
	for _, config := range children.Configs {
		failed = append(failed, c.applier.Delete(ctx, config.DeepCopy()))
	}
	if children.Cluster != nil {
		failed = append(failed, c.applier.Delete(ctx, children.Cluster.DeepCopy()))
	}
	if err := errors.Join(failed...); err != nil {
		return steps.Result{}, fmt.Errorf("delete what belongs to engine %q: %w", p.engine.Name, err)
	}
	if err := c.tellHeld(ctx, p, children.Held()); err != nil {
		return steps.Result{}, err
	}
	err = c.patchFinalizer(ctx, p.engine, controllerutil.RemoveFinalizer)
	if client.IgnoreNotFound(err) != nil {
		return steps.Result{}, fmt.Errorf("remove finalizer of engine %q: %w", p.engine.Name, err)
	}
	c.drains.Forget(p.engine.UID)
	c.turns.release(p.engine.UID)
	c.warnings.forget(p.engine.UID)
	c.sets.forget(p.engine.UID)
	metrics.DeleteEngine(client.ObjectKeyFromObject(p.engine))
	c.Reporter.Gone(workload.Object(p.engine, v1alpha1.GroupVersion.WithKind("FireboltEngine")))
	return steps.Result{Stop: true}, nil
}

// tellHeld reports that foreign finalizers hold children. They do not block the
// engine: their owner is deleted, and the rest is up to the owners of the finalizers.
func (c *Reconciler) tellHeld(ctx context.Context, p *reconcileState, held []string) error {
	if len(held) == 0 {
		return nil
	}
	p.held = fmt.Sprintf("Foreign finalizers block the deletion of %s.", strings.Join(held, ", "))
	outcome := p.outcome()
	before := p.engine.DeepCopy()
	changed, err := c.status.Apply(ctx, p.engine, outcome.Next(c.Clock.Now()))
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if changed {
		c.recordEvents(before, p.engine)
	}
	return nil
}

// ensureFinalizer adds the finalizer, also to a paused engine: its deletion needs the cleanup too.
func (c *Reconciler) ensureFinalizer(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if controllerutil.ContainsFinalizer(p.engine, v1alpha1.EngineFinalizer) {
		return steps.Result{}, nil
	}
	if err := c.patchFinalizer(ctx, p.engine, controllerutil.AddFinalizer); err != nil {
		return steps.Result{}, fmt.Errorf("add finalizer to engine %q: %w", p.engine.Name, err)
	}
	return steps.Result{}, nil
}

func (c *Reconciler) patchFinalizer(ctx context.Context, e *v1alpha1.FireboltEngine, change func(client.Object, string) bool) error {
	return mutationcache.Patch(ctx, c.Client, e, func(e *v1alpha1.FireboltEngine) { change(e, v1alpha1.EngineFinalizer) })
}
