package superset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/enqueue"
	"github.com/flotilla-dev/flotilla/libs/kube/pace"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
)

// SetupWithManager adds the controller to the manager, and the indexes to its cache.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, lease *standalone.LeaseWatcher, workers int) error {
	if err := Index(ctx, mgr); err != nil {
		return err
	}
	if err := r.watchOptionalKinds(mgr); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("superset").
		For(&v1alpha1.Superset{}, builder.WithPredicates(r.shouldReconcile())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	b = b.Watches(&v1alpha1.Superset{}, enqueue.Edits())
	for _, obj := range []client.Object{
		&appsv1.Deployment{}, &batchv1.Job{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{},
	} {
		b = b.Owns(obj, builder.WithPredicates(childPredicate()))
	}
	for _, obj := range []client.Object{&networkingv1.Ingress{}, &networkingv1.NetworkPolicy{}} {
		b = b.Owns(obj, builder.WithPredicates(specPredicate()))
	}
	b = b.WatchesRawSource(r.optional.routes).WatchesRawSource(r.optional.monitors)
	b = b.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(parent), builder.WithPredicates(podPredicate()))
	if lease != nil {
		b = b.WatchesRawSource(lease.Source(&v1alpha1.SupersetList{}))
	}
	if err := b.Complete(pace.New(enqueue.ResetPriority(r), clock.RealClock{})); err != nil {
		return fmt.Errorf("register the superset controller: %w", err)
	}
	return nil
}

// Index adds the field indexes by which the children of a Superset are listed.
func Index(ctx context.Context, mgr ctrl.Manager) error {
	for _, obj := range []client.Object{
		&corev1.Pod{}, &corev1.ServiceAccount{}, &networkingv1.Ingress{}, &networkingv1.NetworkPolicy{},
	} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, obj, observe.ParentIndex, observe.ParentOf); err != nil {
			return fmt.Errorf("index %T: %w", obj, err)
		}
	}
	return nil
}

// parent maps a pod to its Superset by label: the pod's owner is a ReplicaSet or a Job.
func parent(_ context.Context, obj client.Object) []reconcile.Request {
	name := obj.GetLabels()[v1alpha1.LabelParent]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
}
