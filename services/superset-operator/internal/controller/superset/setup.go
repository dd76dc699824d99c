package superset

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
)

// CacheOptions limits the cache to Superset's objects: all objects of this operator and of the legacy one have the
// same label.
func CacheOptions(o *cache.Options) {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelName: v1alpha1.NameValue})}
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	for _, obj := range []client.Object{
		&appsv1.Deployment{}, &batchv1.Job{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}, &corev1.Pod{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{},
		&networkingv1.Ingress{}, &networkingv1.NetworkPolicy{},
	} {
		o.ByObject[obj] = ours
	}
}

// Needs returns the prerequisites of the operator; the kinds of package optional are not among them.
func Needs() []service.Prerequisite {
	return slices.Concat(
		service.Prerequisites(v1alpha1.GroupVersion, "supersets"),
		service.Prerequisites(appsv1.SchemeGroupVersion, "deployments"),
		service.Prerequisites(batchv1.SchemeGroupVersion, "jobs"),
		service.Prerequisites(corev1.SchemeGroupVersion, "services", "configmaps", "serviceaccounts", "pods"),
		service.Prerequisites(autoscalingv2.SchemeGroupVersion, "horizontalpodautoscalers"),
		service.Prerequisites(policyv1.SchemeGroupVersion, "poddisruptionbudgets"),
		service.Prerequisites(networkingv1.SchemeGroupVersion, "ingresses", "networkpolicies"),
	)
}

// Setup registers the controller with the manager of the service.
func Setup(ctx context.Context, rt *service.Runtime) error {
	gate, err := standalone.NewLeaseWatcher(rt.Manager, rt.Options.ConditionsLeaseNamespace)
	if err != nil {
		return fmt.Errorf("watch the conditions lease: %w", err)
	}
	if err := metrics.Register(crmetrics.Registry, metrics.FromCache(rt.GetClient())); err != nil {
		return err
	}
	reporter := standalone.NewReporter(rt.GetClient(), gate, rt.Observations, contract.Superset, rt.Clock)
	r := New(Dependencies{
		Client: rt.GetClient(), Live: rt.GetAPIReader(), Reporter: reporter,
		Recorder: rt.GetEventRecorder("superset-controller"), Clock: rt.Clock,
		Namespaces: rt.Options.WatchNamespaces,
	})
	return r.SetupWithManager(ctx, rt.Manager, gate, rt.Options.Workers)
}

// SetupWithManager registers the controller with a manager whose cache uses [CacheOptions].
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, gate *standalone.LeaseWatcher, workers int) error {
	if err := Index(ctx, mgr); err != nil {
		return err
	}
	if err := r.follow(mgr); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("superset").
		For(&v1alpha1.Superset{}, builder.WithPredicates(r.relevant())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	for _, obj := range []client.Object{
		&appsv1.Deployment{}, &batchv1.Job{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{},
	} {
		b = b.Owns(obj, builder.WithPredicates(meaningful()))
	}
	for _, obj := range []client.Object{&networkingv1.Ingress{}, &networkingv1.NetworkPolicy{}} {
		b = b.Owns(obj, builder.WithPredicates(declared()))
	}
	b = b.WatchesRawSource(r.optional.routes).WatchesRawSource(r.optional.monitors)
	b = b.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(parent), builder.WithPredicates(podNews()))
	if gate != nil {
		b = b.WatchesRawSource(gate.Source(&v1alpha1.SupersetList{}))
	}
	if err := b.Complete(r); err != nil {
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
