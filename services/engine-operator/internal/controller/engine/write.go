package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/engine/lastset"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/credentials"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// decide computes the next step; a paused engine gets none. A pause neither makes a rollout overdue nor ends that.
func (r *Reconciler) decide(ctx context.Context, s *reconcileState) (steps.Result, error) {
	r.limiter.Observe(s.engine)
	if status.Intent(s.engine).Paused {
		r.limiter.Leave(s.engine.UID)
		s.overdue = meta.IsStatusConditionTrue(s.engine.Status.Conditions, v1alpha1.ConditionRolloutOverdue)
		return steps.Result{}, nil
	}
	in, remaining := r.input(s)
	plan, err := r.confirmed(ctx, s, &in)
	if err != nil {
		return steps.Result{}, err
	}
	if plan.External {
		acquired, isNew, err := r.limiter.Acquire(ctx, s.engine, plan.Next.Allocated)
		if err != nil {
			return steps.Result{}, err
		}
		s.newSlot = isNew
		if in.Throttled = !acquired; in.Throttled {
			if plan, err = r.confirmed(ctx, s, &in); err != nil {
				return steps.Result{}, err
			}
		}
	}
	if s.desired != nil && plan.NeedsInstance(in.State) {
		closed, err := r.confirmCredentials(ctx, s)
		if err != nil {
			return steps.Result{}, err
		}
		if closed {
			if s.newSlot {
				r.limiter.Release(s.engine.UID)
				s.newSlot = false
			}
			in.Renderable = false
			if plan, err = r.confirmed(ctx, s, &in); err != nil {
				return steps.Result{}, err
			}
		}
	}
	s.plan, s.decided = plan, true
	if !plan.Waiting {
		r.limiter.Leave(s.engine.UID)
	}
	return steps.Result{Requeue: steps.MinRequeue(plan.Requeue, remaining)}, nil
}

// confirmed decides, and confirms the input if the decision requires it.
func (r *Reconciler) confirmed(ctx context.Context, s *reconcileState, in *engine.Input) (engine.Plan, error) {
	plan := engine.Decide(*in)
	if !plan.Confirm {
		return plan, nil
	}
	if err := r.confirm(ctx, s); err != nil {
		return engine.Plan{}, err
	}
	in.Confirmed = true
	return engine.Decide(*in), nil
}

// input returns the input of the decision, and the time until a deadline changes it.
func (r *Reconciler) input(s *reconcileState) (in engine.Input, remaining time.Duration) {
	rollout := resolve.RolloutOf(s.engine, s.class)
	s.overdue, remaining = overdue(s.engine, rollout.Deadline, r.Clock.Now())
	if current := s.snapshot.Generations[s.plan.Next.Current]; s.overdue && rollout.Rollback && !current.Edited() {
		rollout.Rollback, remaining = canRollBack(s.children.StatefulSets[s.plan.Next.Current], rollout.Deadline, r.Clock.Now())
	}
	in = engine.Input{
		State: engine.StateOf(s.engine.Status), Snapshot: s.snapshot, Replicas: status.Replicas(s.engine),
		Renderable: s.desired != nil, OwnSpecChanged: s.ownSpecChanged(),
		Overdue: s.overdue, Rollback: rollout.Rollback, Drain: s.drain,
	}
	if s.desired != nil {
		in.Desired = s.desired.StatefulSet.Annotations[names.AnnotationRenderingHash]
	}
	return in, remaining
}

// confirmCredentials closes the gate when the credentials of the instance's database were
// deleted: the instance controller detects that only with a delay.
func (r *Reconciler) confirmCredentials(ctx context.Context, s *reconcileState) (closed bool, err error) {
	secret, err := credentials.Get(ctx, r.APIReader, s.instance)
	if err != nil {
		return false, err
	}
	if missing := credentials.Missing(s.instance, secret); missing != "" {
		s.instanceError = status.InstanceUnusable(s.instance.Name, missing)
		return true, nil
	}
	return false, nil
}

// confirm compares the input of the decision with the API server. It continues with
// the object of the API server, so that an irrelevant difference, such
// as a condition of another writer, costs no second reconcile.
func (r *Reconciler) confirm(ctx context.Context, s *reconcileState) error {
	live := &v1alpha1.FireboltEngine{}
	err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(s.engine), live)
	if apierrors.IsNotFound(err) {
		return errStale
	}
	if err != nil {
		return fmt.Errorf("confirm engine %q: %w", s.engine.Name, err)
	}
	if live.UID != s.engine.UID || live.Generation != s.engine.Generation || live.DeletionTimestamp != nil ||
		engine.StateOf(live.Status) != engine.StateOf(s.engine.Status) || status.Intent(live) != status.Intent(s.engine) {
		return errStale
	}
	s.engine = live
	return nil
}

// write executes the plan in order. A failed write prevents only those that require it. What the plan
// records next follows from what was observed, so it is recorded also after a failure, except that
// the engine is settled.
func (r *Reconciler) write(ctx context.Context, s *reconcileState) (steps.Result, error) {
	var result steps.Result
	var failed []engine.Write
	var failures []error
	for _, w := range s.plan.Writes() {
		if slices.ContainsFunc(failed, w.Requires) {
			failed = append(failed, w)
			continue
		}
		switch err := r.writeOne(ctx, s, w); {
		case err == nil:
			continue
		case isStale(err):
			return steps.Result{}, err
		case errors.Is(err, apply.ErrBeingDeleted): // its deletion enqueues the engine
			result.Requeue = engine.RequeueWait
		default:
			failures = append(failures, err)
		}
		failed = append(failed, w)
	}
	s.executed = true
	return result, errors.Join(failures...)
}

func (r *Reconciler) writeOne(ctx context.Context, s *reconcileState, w engine.Write) error {
	n := w.Generation
	switch w.Op {
	case engine.EnsureConfig:
		if set := s.children.StatefulSets[n]; set != nil && render.Legacy(set) && s.children.Configs[n] != nil {
			return nil // its pods already read the configuration of an earlier operator
		}
		return r.ensure(ctx, s, s.desired.Config, s.children.Configs[n])
	case engine.EnsureHeadless:
		return r.ensure(ctx, s, render.Headless(s.engine.Namespace, s.engine.Name, n), s.children.Headless[n])
	case engine.CreateStatefulSet:
		return r.create(ctx, s, s.desired.StatefulSet)
	case engine.RestoreStatefulSet:
		return r.create(ctx, s, lastset.NewFrom(s.children.LastVersions[n]))
	case engine.RepairLabels:
		return r.relabel(ctx, s, n)
	case engine.RouteService:
		return r.route(ctx, s, render.Cluster(s.engine.Namespace, s.engine.Name, n))
	case engine.ConfirmUnrouted:
		return r.confirmUnrouted(ctx, s, n)
	case engine.DeleteStatefulSet:
		return r.applier.Delete(ctx, s.children.StatefulSets[n].DeepCopy(), apply.WithPropagation(metav1.DeletePropagationForeground))
	case engine.DeleteHeadless:
		return r.applier.Delete(ctx, s.children.Headless[n].DeepCopy())
	case engine.DeleteConfig:
		return r.applier.Delete(ctx, s.children.Configs[n].DeepCopy())
	}
	return fmt.Errorf("unknown operation %d", w.Op)
}

// confirmUnrouted checks with the API server that no traffic is routed to a generation before its deletion. A Service of
// another owner that selects the generation keeps it: only a user can change that, and a new decision would be the same.
func (r *Reconciler) confirmUnrouted(ctx context.Context, s *reconcileState, n int64) error {
	live := &corev1.Service{}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: s.engine.Namespace, Name: names.Cluster(s.engine.Name)}, live)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("confirm the route of engine %q: %w", s.engine.Name, err)
	case (observe.Children{Cluster: live}).Route() != n:
		return nil
	case !metav1.IsControlledBy(live, s.engine):
		return fmt.Errorf("confirm the route of engine %q: service %q selects generation %d: %w", s.engine.Name, live.Name, n, apply.ErrNotOwned)
	}
	return errStale
}

// route makes the cluster Service select a generation. A terminating one, which a finalizer may hold for long, still
// routes traffic: only its selector is changed.
func (r *Reconciler) route(ctx context.Context, s *reconcileState, desired *corev1.Service) error {
	live := s.children.Cluster
	if live == nil || live.DeletionTimestamp == nil {
		return r.ensure(ctx, s, desired, live)
	}
	if maps.Equal(live.Spec.Selector, desired.Spec.Selector) {
		return nil // its deletion enqueues the engine
	}
	err := mutationcache.Patch(ctx, r.Client, live.DeepCopy(), func(service *corev1.Service) {
		service.Spec.Selector = desired.Spec.Selector
	}, client.FieldOwner(names.FieldManager))
	if apierrors.IsNotFound(err) {
		return errStale
	}
	if err != nil {
		return fmt.Errorf("route the terminating service %q: %w", live.Name, err)
	}
	return nil
}

func (r *Reconciler) ensure(ctx context.Context, s *reconcileState, desired, existing client.Object) error {
	_, err := r.applier.Object(ctx, s.engine, desired, existing)
	return err
}

// create creates a StatefulSet that does not exist. An existing one that the cache does not show is
// not changed: its pods may have read another configuration.
func (r *Reconciler) create(ctx context.Context, s *reconcileState, desired *appsv1.StatefulSet) error {
	_, err := r.applier.Object(ctx, s.engine, desired, nil, apply.WithCreateOnly())
	if !errors.Is(err, apply.ErrStale) {
		return err
	}
	live := &appsv1.StatefulSet{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(desired), live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get statefulset %q: %w", desired.Name, err)
	}
	if live.UID != "" && !metav1.IsControlledBy(live, s.engine) {
		return fmt.Errorf("create statefulset %q: %w", desired.Name, apply.ErrNotOwned)
	}
	return errStale
}

// relabel restores the labels that select the generation of a StatefulSet.
func (r *Reconciler) relabel(ctx context.Context, s *reconcileState, n int64) error {
	live := s.children.StatefulSets[n].DeepCopy()
	err := mutationcache.Patch(ctx, r.Client, live, func(set *appsv1.StatefulSet) {
		for key, value := range names.GenerationLabels(s.engine.Name, n) {
			metav1.SetMetaDataLabel(&set.ObjectMeta, key, value)
		}
	}, client.FieldOwner(names.FieldManager+"-labels"))
	if err != nil {
		return fmt.Errorf("repair labels of statefulset %q: %w", live.Name, err)
	}
	return nil
}
