package instance

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// findEngines lists the engines that refer to the instance. It does not copy them: only names and phases are used.
func (r *Reconciler) findEngines(ctx context.Context, s *reconcileState) (steps.Result, error) {
	err := r.Client.List(ctx, &s.engines, client.InNamespace(s.instance.Namespace),
		client.MatchingFields{observe.IndexInstance: s.instance.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return steps.Result{}, fmt.Errorf("list engines of instance %q: %w", s.instance.Name, err)
	}
	return steps.Result{}, nil
}

// reconcileDelete removes the finalizer of a deleted instance once no engine refers to it. Its
// children are garbage-collected; the volume of its own database and the credentials stay.
//
// Until then the instance is reconciled as usual, since its engines still depend on it. Only a
// foreground deletion (kubectl --cascade=foreground) keeps the reconcile from recreating
// children that Kubernetes deletes.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *reconcileState) (steps.Result, error) {
	i := s.instance
	if i.DeletionTimestamp == nil {
		return steps.Result{}, nil
	}
	if !controllerutil.ContainsFinalizer(i, v1alpha1.InstanceFinalizer) {
		s.deleted = true
		return steps.Result{Stop: true}, nil
	}
	var result steps.Result
	if len(s.engines.Items) == 0 { // the cache may lack the latest one, whose creation does not enqueue the instance
		var err error
		s.engines.Items, err = observe.ListReferring(ctx, r.APIReader, observe.IndexInstance, client.ObjectKeyFromObject(i))
		if err != nil {
			return steps.Result{}, err
		}
		result.Requeue = requeueFailure
	}
	if len(s.engines.Items) > 0 {
		s.failure = new(status.NewDeletionBlocked(observe.EngineNames(s.engines.Items)))
		result.Stop = slices.Contains(i.Finalizers, metav1.FinalizerDeleteDependents)
		return result, nil
	}
	if s.volumeAtRisk {
		return steps.Result{Stop: true}, nil
	}
	if err := r.retainCredentials(ctx, s); err != nil {
		return steps.Result{}, err
	}
	s.deleted = true
	err := r.patch(ctx, i, func(i *v1alpha1.FireboltInstance) { controllerutil.RemoveFinalizer(i, v1alpha1.InstanceFinalizer) })
	if client.IgnoreNotFound(err) != nil {
		return steps.Result{}, fmt.Errorf("remove finalizer of instance %q: %w", i.Name, err)
	}
	r.uids.Remove(client.ObjectKeyFromObject(i))
	return steps.Result{Stop: true}, nil
}

// track records the UID of an instance, until the operator removes its finalizer.
func (r *Reconciler) track(i *v1alpha1.FireboltInstance) {
	if i.DeletionTimestamp == nil || controllerutil.ContainsFinalizer(i, v1alpha1.InstanceFinalizer) {
		r.uids.Record(workload.Object(i, v1alpha1.GroupVersion.WithKind("FireboltInstance")))
	}
}

// forgetName drops the state of an instance that does not exist. It is still recorded if another client removed the finalizer.
func (r *Reconciler) forgetName(key types.NamespacedName) {
	r.tracer.Forget(key)
	r.written.Forget(key)
	metrics.DeleteInstance(key)
	r.uids.Remove(key)
}

// forget drops the state of a deleted instance, and publishes its deletion.
func (r *Reconciler) forget(o contract.Object) {
	metrics.DeleteInstance(types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
	r.Reporter.Delete(o)
}

// checkPause ends the reconcile of a paused instance; its status stays up to date.
func (*Reconciler) checkPause(_ context.Context, s *reconcileState) (steps.Result, error) {
	return steps.Result{Stop: status.Intent(s.instance).Paused}, nil
}

// checkSupport rejects features that this release does not support. It creates nothing and does not
// change running workloads of an earlier operator.
func (*Reconciler) checkSupport(_ context.Context, s *reconcileState) (steps.Result, error) {
	violations := validation.InstanceUnsupported(s.instance)
	if len(violations) == 0 {
		return steps.Result{}, nil
	}
	s.evaluated = true
	if s.failure == nil {
		s.failure = new(status.NewUnsupported(validation.Message(violations)))
	}
	return steps.Result{Stop: true}, nil
}

// ensureFinalizer adds the finalizer, but not to a terminating object: the API server
// would reject the write.
func (r *Reconciler) ensureFinalizer(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.instance.DeletionTimestamp != nil || controllerutil.ContainsFinalizer(s.instance, v1alpha1.InstanceFinalizer) {
		return steps.Result{}, nil
	}
	err := r.patch(ctx, s.instance, func(i *v1alpha1.FireboltInstance) { controllerutil.AddFinalizer(i, v1alpha1.InstanceFinalizer) })
	if err != nil {
		return steps.Result{}, fmt.Errorf("add finalizer to instance %q: %w", s.instance.Name, err)
	}
	return steps.Result{}, nil
}

// identify sets the id of the instance once: the id of an earlier instance with the same name whose
// database exists, or otherwise a new one.
func (r *Reconciler) identify(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.instance.Spec.ID != "" {
		return steps.Result{}, nil
	}
	id, err := r.formerID(ctx, s)
	if err != nil {
		return steps.Result{}, err
	}
	if id == "" {
		if id, err = r.NewID(); err != nil {
			return steps.Result{}, fmt.Errorf("generate id for instance %q: %w", s.instance.Name, err)
		}
	}
	if err := r.patch(ctx, s.instance, func(i *v1alpha1.FireboltInstance) { i.Spec.ID = id }); err != nil {
		return steps.Result{}, fmt.Errorf("set id of instance %q: %w", s.instance.Name, err)
	}
	return steps.Result{}, nil
}

// admit rejects components whose part of the spec is invalid. A rejected component stays as
// it is; the other one is still reconciled.
func (*Reconciler) admit(_ context.Context, s *reconcileState) (steps.Result, error) {
	for _, part := range []struct {
		component  *status.Component
		violations field.ErrorList
	}{{&s.metadata, validation.InstanceMetadata(s.instance)}, {&s.gateway, validation.InstanceGateway(s.instance)}} {
		if len(part.violations) > 0 {
			s.setFailure(part.component, status.NewRejection(validation.Message(part.violations)), 0)
		}
	}
	return steps.Result{}, nil
}

func (r *Reconciler) patch(ctx context.Context, i *v1alpha1.FireboltInstance, change func(*v1alpha1.FireboltInstance)) error {
	return mutationcache.Patch(ctx, r.Client, i, change, client.FieldOwner(names.FieldManager))
}
