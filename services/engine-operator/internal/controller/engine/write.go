package engine

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// decide asks for the next step; a paused engine gets none.
func (c *Controller) decide(ctx context.Context, p *pass) (steps.Result, error) {
	if status.Intent(p.engine).Paused {
		return steps.Result{}, nil
	}
	in := engine.Input{
		State: engine.StateOf(p.engine.Status), Snapshot: p.snapshot, Replicas: status.Replicas(p.engine),
		Renderable: p.desired != nil, Drain: p.drain,
	}
	plan := engine.Decide(in)
	if plan.Confirm {
		if err := c.confirm(ctx, p); err != nil {
			return steps.Result{}, err
		}
		in.Confirmed = true
		plan = engine.Decide(in)
	}
	p.plan, p.decided = plan, true
	return steps.Result{Requeue: plan.Requeue}, nil
}

// confirm compares what the decision was made from with the API server. It goes on with
// the object as the API server has it, so that a difference which does not matter, such
// as somebody else's condition, costs no second pass.
func (c *Controller) confirm(ctx context.Context, p *pass) error {
	live := &v1.FireboltEngine{}
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(p.engine), live)
	if apierrors.IsNotFound(err) {
		return errOutdated
	}
	if err != nil {
		return fmt.Errorf("confirm engine %q: %w", p.engine.Name, err)
	}
	if live.UID != p.engine.UID || live.Generation != p.engine.Generation || live.DeletionTimestamp != nil ||
		engine.StateOf(live.Status) != engine.StateOf(p.engine.Status) || status.Intent(live) != status.Intent(p.engine) {
		return errOutdated
	}
	p.engine = live
	return nil
}

// write carries the plan out, in its order. Deletions are all tried; anything else stops
// at the first failure, since what follows rests on it.
func (c *Controller) write(ctx context.Context, p *pass) (steps.Result, error) {
	var failed []error
	for _, w := range p.plan.Writes() {
		err := c.writeOne(ctx, p, w)
		if errors.Is(err, apply.ErrBeingDeleted) {
			return steps.Result{Requeue: engine.RequeueWait}, nil // its deletion wakes us
		}
		if err != nil && w.Op < engine.DeleteStatefulSet {
			return steps.Result{}, err
		}
		failed = append(failed, err)
	}
	return steps.Result{}, errors.Join(failed...)
}

func (c *Controller) writeOne(ctx context.Context, p *pass, w engine.Write) error {
	n := w.Generation
	switch w.Op {
	case engine.EnsureConfig:
		return c.ensure(ctx, p, p.desired.Config, p.children.Configs[n])
	case engine.EnsureHeadless:
		return c.ensure(ctx, p, render.Headless(p.engine.Namespace, p.engine.Name, n), p.children.Headless[n])
	case engine.CreateStatefulSet:
		return c.create(ctx, p, p.desired.StatefulSet)
	case engine.RouteService:
		return c.ensure(ctx, p, render.Cluster(p.engine.Namespace, p.engine.Name, n), p.children.Cluster)
	case engine.DeleteStatefulSet:
		return c.applier.Delete(ctx, p.children.StatefulSets[n].DeepCopy(), apply.WithPropagation(metav1.DeletePropagationForeground))
	case engine.DeleteHeadless:
		return c.applier.Delete(ctx, p.children.Headless[n].DeepCopy())
	case engine.DeleteConfig:
		return c.applier.Delete(ctx, p.children.Configs[n].DeepCopy())
	}
	return fmt.Errorf("unknown operation %d", w.Op)
}

func (c *Controller) ensure(ctx context.Context, p *pass, desired, existing client.Object) error {
	_, err := c.applier.Object(ctx, p.engine, desired, existing)
	return err
}

// create makes a StatefulSet that does not exist. One that does, unknown to the cache, is
// left alone: its pods may have read another configuration.
func (c *Controller) create(ctx context.Context, p *pass, desired *appsv1.StatefulSet) error {
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(desired), &appsv1.StatefulSet{})
	switch {
	case apierrors.IsNotFound(err):
		return c.ensure(ctx, p, desired, nil)
	case err != nil:
		return fmt.Errorf("look for statefulset %q: %w", desired.Name, err)
	}
	return errOutdated
}
