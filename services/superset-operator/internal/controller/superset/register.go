package superset

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/enqueue"
	"github.com/flotilla-dev/flotilla/libs/kube/pace"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset/predicates"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset/trackers"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/optional"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

// Delays before a failed reconcile is retried. A user who removes the cause of a failure that no watch shows, such as a
// quota or a foreign object, waits no longer than maxBackoff; the default of controller-runtime is 1000 s.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = time.Minute
)

// SetupWithManager adds the controller to the manager, and the indexes to its cache.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, lease *standalone.LeaseWatcher, workers int) error {
	if err := Index(ctx, mgr); err != nil {
		return err
	}
	if err := r.watchOptionalKinds(mgr); err != nil {
		return err
	}
	edits, timers := enqueue.NewEdits(), &enqueue.Timers{}
	b := ctrl.NewControllerManagedBy(mgr).Named("superset").
		For(&v1alpha1.Superset{}, builder.WithPredicates(r.shouldReconcile())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minBackoff, maxBackoff),
		})
	b = b.Watches(&v1alpha1.Superset{}, edits.Handler())
	for _, obj := range []client.Object{
		&appsv1.Deployment{}, &batchv1.Job{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{},
	} {
		b = b.Owns(obj, builder.WithPredicates(predicates.Child()))
	}
	for _, obj := range []client.Object{&networkingv1.Ingress{}, &networkingv1.NetworkPolicy{}} {
		b = b.Owns(obj, builder.WithPredicates(predicates.Spec()))
	}
	b = b.WatchesRawSource(r.optional.routes).WatchesRawSource(r.optional.monitors).WatchesRawSource(timers.Source())
	b = b.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(parent), builder.WithPredicates(predicates.Pod()))
	if lease != nil {
		b = b.WatchesRawSource(lease.Source(&v1alpha1.SupersetList{}))
	}
	if err := b.Complete(pace.New(edits.Reconciler(timers.Reconciler(r)), clock.RealClock{})); err != nil {
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

// shouldReconcile ignores updates that change only the conditions of other managers, and own status writes.
func (r *Reconciler) shouldReconcile() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, okOld := e.ObjectOld.(*v1alpha1.Superset)
		now, okNow := e.ObjectNew.(*v1alpha1.Superset)
		if !okOld || !okNow {
			return true
		}
		ownWrite := r.written.Observe(now)
		if predicates.MetadataDiffers(old, now) {
			return true
		}
		return !ownWrite && !equality.Semantic.DeepEqual(ownStatus(old), ownStatus(now))
	}}
}

// ownStatus returns the status without the conditions of other managers.
func ownStatus(sup *v1alpha1.Superset) v1alpha1.SupersetStatus {
	own := sup.Status
	own.Conditions = status.OwnedConditions(sup.Status.Conditions)
	return own
}

// Kinds that a cluster may not serve.
var (
	httpRoutes = optional.CRD{
		Kind:     schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
		Resource: "httproutes",
	}
	serviceMonitors = optional.CRD{
		Kind:     schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		Resource: "servicemonitors",
	}
)

// optionals watch the optional kinds. The zero value reports them as unknown.
type optionals struct {
	routes, monitors *optional.Kind
	missing          *trackers.MissingKinds
}

// watchOptionalKinds creates the watches of the optional kinds, which are sources of the controller.
func (r *Reconciler) watchOptionalKinds(mgr ctrl.Manager) error {
	var err error
	r.optional.routes, err = r.optionalKind(mgr, httpRoutes, func(s *v1alpha1.SupersetSpec) bool {
		return s.Networking != nil && s.Networking.Gateway != nil
	})
	if err != nil {
		return err
	}
	r.optional.monitors, err = r.optionalKind(mgr, serviceMonitors, func(s *v1alpha1.SupersetSpec) bool {
		return s.Monitoring != nil && s.Monitoring.ServiceMonitor != nil
	})
	return err
}

func (r *Reconciler) optionalKind(mgr ctrl.Manager, d optional.CRD, uses func(*v1alpha1.SupersetSpec) bool) (*optional.Kind, error) {
	return optional.New(mgr, d, optional.Options{
		Namespaces: r.Namespaces,
		Selector:   labels.SelectorFromSet(labels.Set{v1alpha1.LabelName: v1alpha1.NameValue}),
		Indexes:    map[string]client.IndexerFunc{observe.ParentIndex: observe.ParentOf},
		Handler: handler.EnqueueRequestForOwner(
			mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.Superset{}, handler.OnlyControllerOwner()),
		Predicates: []predicate.Predicate{predicates.Spec()},
		Requests:   func(ctx context.Context) []reconcile.Request { return r.supersetsUsing(ctx, uses) },
	})
}

// supersetsUsing returns the Supersets whose spec uses the kind.
func (r *Reconciler) supersetsUsing(ctx context.Context, uses func(*v1alpha1.SupersetSpec) bool) []reconcile.Request {
	var list v1alpha1.SupersetList
	if err := r.Client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the Supersets that use an optional kind")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if uses(&list.Items[i].Spec) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}
