package engine

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

func (r *Reconciler) observe(ctx context.Context, s *reconcileState) (steps.Result, error) {
	children, err := observe.Read(ctx, r.Client, s.engine)
	if err != nil {
		return steps.Result{}, err
	}
	children.LastVersions = r.sets.LastVersions(s.engine, children)
	s.children, s.observed, s.stuck = children, true, children.Stuck(r.Clock.Now())
	return steps.Result{}, nil
}

// resolveClass gets the engine's class. A missing class is reported in the status and is not an
// error: the watch enqueues the engine when the class appears.
func (r *Reconciler) resolveClass(ctx context.Context, s *reconcileState) (steps.Result, error) {
	ref := s.engine.Spec.EngineClassRef
	if ref == nil {
		return steps.Result{}, nil
	}
	class := &v1alpha1.FireboltEngineClass{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.engine.Namespace, Name: *ref}, class)
	switch {
	case apierrors.IsNotFound(err):
		s.classError = status.ClassNotFound(*ref)
	case err != nil:
		return steps.Result{}, fmt.Errorf("get class %q: %w", *ref, err)
	default:
		s.class = class
	}
	return steps.Result{}, nil
}

// resolveInstance gets the engine's instance and records why it cannot be used.
func (r *Reconciler) resolveInstance(ctx context.Context, s *reconcileState) (steps.Result, error) {
	name := s.engine.Spec.InstanceRef
	instance := &v1alpha1.FireboltInstance{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.engine.Namespace, Name: name}, instance)
	switch {
	case apierrors.IsNotFound(err):
		s.instanceError = status.InstanceNotFound(name)
		return steps.Result{}, nil
	case err != nil:
		return steps.Result{}, fmt.Errorf("get instance %q: %w", name, err)
	}
	unsupported := validation.InstanceUnsupported(instance)
	switch {
	case len(unsupported) > 0:
		s.instanceError = status.InstanceRejected(name, validation.Message(unsupported))
	case instance.Spec.ID == "":
		s.instanceError = fmt.Sprintf("FireboltInstance %q has no id yet.", name)
	case instance.Status.MetadataEndpoint == "":
		s.instanceError = fmt.Sprintf("FireboltInstance %q has no metadata endpoint yet.", name)
	}
	s.instance = instance
	return steps.Result{}, nil
}

// render renders the current generation and the serving one, if their inputs are known, and compares them with
// the observed objects.
func (r *Reconciler) render(_ context.Context, s *reconcileState) (steps.Result, error) {
	rendered := map[int64]render.Generation{}
	if s.admitted() {
		e, err := resolve.Resolve(s.engine, s.class, status.Replicas(s.engine))
		if err != nil {
			return steps.Result{}, err
		}
		numbers := []int64{s.plan.Next.Current}
		if active := s.plan.Next.Active; active != engine.None && active != s.plan.Next.Current {
			numbers = append(numbers, active)
		}
		for _, n := range numbers {
			rendered[n], err = render.Of(render.Input{
				Engine: e, Images: r.Images, Generation: n,
				Instance: render.Instance{ID: s.instance.Spec.ID, Endpoint: s.instance.Status.MetadataEndpoint},
			})
			if err != nil {
				return steps.Result{}, err
			}
		}
		s.desired = new(rendered[s.plan.Next.Current])
	}
	var err error
	s.snapshot, err = s.children.Snapshot(rendered)
	return steps.Result{}, err
}

// readWarnings finds out why pods of the current or of the serving
// generation are missing (specification 001, "StatefulSet event propagation"). It logs and counts a failure
// to list events, and the reconcile continues.
func (r *Reconciler) readWarnings(ctx context.Context, s *reconcileState) (steps.Result, error) {
	n, set := s.missingActiveSet()
	if set == nil {
		r.warnings.Forget(s.engine.UID)
		return steps.Result{}, nil
	}
	warning, requeue, err := r.warnings.Latest(ctx, s.engine.UID, set)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("Failed to read the events of a StatefulSet", "statefulset", set.Name, "error", err.Error())
		metrics.EventReadFailed()
	}
	warning.Generation = n
	s.warning = warning
	return steps.Result{Requeue: requeue}, nil
}

// missingActiveSet returns the first generation without all its pods, and its StatefulSet; nil if there is none.
func (s *reconcileState) missingActiveSet() (int64, *appsv1.StatefulSet) {
	for _, n := range []int64{s.plan.Next.Current, s.plan.Next.Active} {
		set := s.children.StatefulSets[n]
		if set != nil && s.snapshot.Generations[n].PodsTotal < ptr.Deref(set.Spec.Replicas, 1) {
			return n, set
		}
	}
	return engine.None, nil
}
