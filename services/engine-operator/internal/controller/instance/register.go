package instance

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/backoff"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/predicates"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, gate *standalone.LeaseWatcher) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("instance").
		For(&v1alpha1.FireboltInstance{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: r.shouldReconcile})).
		WithOptions(backoff.Options()).
		Owns(&appsv1.Deployment{}).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.ServiceAccount{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.FireboltEngine{}, handler.EnqueueRequestsFromMapFunc(instanceOf), builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(event.CreateEvent) bool { return false },
			UpdateFunc: func(u event.UpdateEvent) bool { return stopChanged(u) || lostInstance(u) },
		}))
	if gate != nil {
		b = b.WatchesRawSource(gate.Source(&v1alpha1.FireboltInstanceList{}))
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("register the instance controller: %w", err)
	}
	return nil
}

// shouldReconcile drops the events of status writes: the next reconcile
// already sees our own writes, and it does not use the conditions of other writers.
func (r *Reconciler) shouldReconcile(u event.UpdateEvent) bool {
	oldObj, okOld := u.ObjectOld.(*v1alpha1.FireboltInstance)
	newObj, okNew := u.ObjectNew.(*v1alpha1.FireboltInstance)
	if !okOld || !okNew {
		return true
	}
	own := r.written.Observe(newObj)
	return predicates.MetadataDiffers(oldObj, newObj) || !own && !equality.Semantic.DeepEqual(status.OwnInstance(oldObj.Status), status.OwnInstance(newObj.Status))
}

// stopChanged reports whether an update stops or starts an engine: a stopped instance waits for it.
func stopChanged(u event.UpdateEvent) bool {
	oldObj, okOld := u.ObjectOld.(*v1alpha1.FireboltEngine)
	newObj, okNew := u.ObjectNew.(*v1alpha1.FireboltEngine)
	return okOld && okNew && (oldObj.Status.Phase == v1alpha1.PhaseStopped) != (newObj.Status.Phase == v1alpha1.PhaseStopped)
}

// lostInstance reports whether an update records that the engine cannot use its instance: it may have found the Secret deleted.
func lostInstance(u event.UpdateEvent) bool {
	oldObj, okOld := u.ObjectOld.(*v1alpha1.FireboltEngine)
	newObj, okNew := u.ObjectNew.(*v1alpha1.FireboltEngine)
	return okOld && okNew && meta.IsStatusConditionFalse(newObj.Status.Conditions, v1alpha1.ConditionInstanceReady) &&
		!meta.IsStatusConditionFalse(oldObj.Status.Conditions, v1alpha1.ConditionInstanceReady)
}

func instanceOf(_ context.Context, o client.Object) []reconcile.Request {
	e, ok := o.(*v1alpha1.FireboltEngine)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: e.Namespace, Name: e.Spec.InstanceRef}}}
}
