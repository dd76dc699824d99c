package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/credentials"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// decide computes the next step; a paused engine gets none.
func (c *Reconciler) decide(ctx context.Context, p *reconcileState) (steps.Result, error) {
	if status.Intent(p.engine).Paused {
		return steps.Result{}, nil
	}
	in, left := c.input(p)
	plan := engine.Decide(in)
	if plan.Confirm {
		if err := c.confirm(ctx, p); err != nil {
			return steps.Result{}, err
		}
		in.Confirmed = true
		plan = engine.Decide(in)
	}
	if plan.External {
		mine, fresh, err := c.turns.acquire(ctx, p.engine, plan.Next.Allocated)
		if err != nil {
			return steps.Result{}, err
		}
		p.turn = fresh
		if in.Throttled = !mine; in.Throttled {
			plan = engine.Decide(in)
		}
	}
	if p.begins(plan) {
		closed, err := c.confirmCredentials(ctx, p)
		if err != nil {
			return steps.Result{}, err
		}
		if closed {
			if p.turn {
				c.turns.release(p.engine.UID)
				p.turn = false
			}
			in.Renderable = false
			plan = engine.Decide(in)
		}
	}
	p.plan, p.decided = plan, true
	metrics.EngineHeld(client.ObjectKeyFromObject(p.engine), plan.Waiting)
	if plan.Waiting {
		left = requeueThrottled
	}
	return steps.Result{Requeue: steps.MinRequeue(plan.Requeue, left)}, nil
}

// input gathers what the decision depends on, and how long until a deadline changes it.
func (c *Reconciler) input(p *reconcileState) (in engine.Input, left time.Duration) {
	c.turns.seen(p.engine)
	rollout := resolve.RolloutOf(p.engine, p.class)
	p.overdue, left = overdue(p.engine, rollout.Deadline, c.Clock.Now())
	in = engine.Input{
		State: engine.StateOf(p.engine.Status), Snapshot: p.snapshot, Replicas: status.Replicas(p.engine),
		Renderable: p.desired != nil, OwnSpecChanged: p.ownSpecChanged(),
		Overdue: p.overdue, Rollback: rollout.Rollback, Drain: p.drain,
	}
	if p.desired != nil {
		in.Desired = p.desired.StatefulSet.Annotations[names.AnnotationRenderingHash]
	}
	return in, left
}

// begins reports whether the plan begins something that needs the instance: another
// number, a StatefulSet as it would be rendered now, or the switch to it.
func (p *reconcileState) begins(plan engine.Plan) bool {
	if !p.gateAsked() || p.instance == nil || p.desired == nil {
		return false
	}
	return plan.Next.Allocated > engine.StateOf(p.engine.Status).Allocated || plan.Next.Phase == v1alpha1.PhaseSwitching ||
		slices.ContainsFunc(plan.Ensure, func(e engine.Ensure) bool { return e.StatefulSet })
}

// confirmCredentials closes the gate when the credentials of the instance's database are
// gone: the instance notices it only after a while.
func (c *Reconciler) confirmCredentials(ctx context.Context, p *reconcileState) (closed bool, err error) {
	secret, err := credentials.Get(ctx, c.APIReader, p.instance)
	if err != nil {
		return false, err
	}
	if missing := credentials.Missing(p.instance, secret); missing != "" {
		p.gate = fmt.Sprintf("FireboltInstance %q: %s", p.instance.Name, missing)
		return true, nil
	}
	return false, nil
}

// confirm compares what the decision was made from with the API server. It continues with
// the object as the API server has it, so that a difference which does not matter, such
// as a condition of another writer, costs no second reconcile.
func (c *Reconciler) confirm(ctx context.Context, p *reconcileState) error {
	live := &v1alpha1.FireboltEngine{}
	err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(p.engine), live)
	if apierrors.IsNotFound(err) {
		return errStale
	}
	if err != nil {
		return fmt.Errorf("confirm engine %q: %w", p.engine.Name, err)
	}
	if live.UID != p.engine.UID || live.Generation != p.engine.Generation || live.DeletionTimestamp != nil ||
		engine.StateOf(live.Status) != engine.StateOf(p.engine.Status) || status.Intent(live) != status.Intent(p.engine) {
		return errStale
	}
	p.engine = live
	return nil
}

// write carries the plan out, in its order. Deletions are all tried; anything else stops
// at the first failure, since what follows rests on it.
func (c *Reconciler) write(ctx context.Context, p *reconcileState) (steps.Result, error) {
	var failed []error
	for _, w := range p.plan.Writes() {
		err := c.writeOne(ctx, p, w)
		if errors.Is(err, apply.ErrBeingDeleted) {
			return steps.Result{Requeue: engine.RequeueWait}, nil // its deletion enqueues the engine
		}
		if err != nil && w.Op < engine.DeleteStatefulSet {
			return steps.Result{}, err
		}
		failed = append(failed, err)
	}
	return steps.Result{}, errors.Join(failed...)
}

func (c *Reconciler) writeOne(ctx context.Context, p *reconcileState, w engine.Write) error {
	n := w.Generation
	switch w.Op {
	case engine.EnsureConfig:
		if set := p.children.StatefulSets[n]; set != nil && render.Legacy(set) && p.children.Configs[n] != nil {
			return nil // its pods have read what an earlier operator wrote
		}
		return c.ensure(ctx, p, p.desired.Config, p.children.Configs[n])
	case engine.EnsureHeadless:
		return c.ensure(ctx, p, render.Headless(p.engine.Namespace, p.engine.Name, n), p.children.Headless[n])
	case engine.CreateStatefulSet:
		return c.create(ctx, p, p.desired.StatefulSet)
	case engine.RestoreStatefulSet:
		return c.create(ctx, p, restored(p.children.Past[n]))
	case engine.RepairLabels:
		return c.relabel(ctx, p, n)
	case engine.RouteService:
		return c.ensure(ctx, p, render.Cluster(p.engine.Namespace, p.engine.Name, n), p.children.Cluster)
	case engine.ConfirmUnrouted:
		return c.unrouted(ctx, p, n)
	case engine.DeleteStatefulSet:
		return c.applier.Delete(ctx, p.children.StatefulSets[n].DeepCopy(), apply.WithPropagation(metav1.DeletePropagationForeground))
	case engine.DeleteHeadless:
		return c.applier.Delete(ctx, p.children.Headless[n].DeepCopy())
	case engine.DeleteConfig:
		return c.applier.Delete(ctx, p.children.Configs[n].DeepCopy())
	}
	return fmt.Errorf("unknown operation %d", w.Op)
}

// unrouted asks the API server whether a generation can be deleted without cutting traffic.
func (c *Reconciler) unrouted(ctx context.Context, p *reconcileState, n int64) error {
	live := &corev1.Service{}
	err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: p.engine.Namespace, Name: names.Cluster(p.engine.Name)}, live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("confirm the route of engine %q: %w", p.engine.Name, err)
	}
	if err == nil && (observe.Children{Cluster: live}).Route() == n {
		return errStale
	}
	return nil
}

func (c *Reconciler) ensure(ctx context.Context, p *reconcileState, desired, existing client.Object) error {
	_, err := c.applier.Object(ctx, p.engine, desired, existing)
	return err
}

// create makes a StatefulSet that does not exist. One that does, unknown to the cache, is
// left alone: its pods may have read another configuration.
func (c *Reconciler) create(ctx context.Context, p *reconcileState, desired *appsv1.StatefulSet) error {
	_, err := c.applier.Object(ctx, p.engine, desired, nil, apply.WithCreateOnly())
	if !errors.Is(err, apply.ErrStale) {
		return err
	}
	live := &appsv1.StatefulSet{}
	if err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(desired), live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get statefulset %q: %w", desired.Name, err)
	}
	if live.UID != "" && !metav1.IsControlledBy(live, p.engine) {
		return fmt.Errorf("create statefulset %q: %w", desired.Name, apply.ErrNotOwned)
	}
	return errStale
}
