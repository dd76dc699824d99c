package engine

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/enqueue"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/backoff"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/engine/throttle"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/predicates"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Index adds the cache indexes that the controllers of this service use.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := observe.Register(ctx, indexer); err != nil {
		return err
	}
	err := indexer.IndexField(ctx, &v1alpha1.FireboltEngine{}, throttle.IndexRolling, func(o client.Object) []string {
		if e, ok := o.(*v1alpha1.FireboltEngine); ok && throttle.IsRollingOut(e) {
			return []string{throttle.Rolling}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index engines by %s: %w", throttle.IndexRolling, err)
	}
	return nil
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, gate *standalone.LeaseWatcher) error {
	edits := enqueue.NewEdits()
	b := ctrl.NewControllerManagedBy(mgr).Named("engine").
		For(&v1alpha1.FireboltEngine{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: r.shouldReconcile})).
		WithOptions(backoff.Options()).
		Watches(&v1alpha1.FireboltEngine{}, edits.Handler()).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(engineOfPod), builder.WithPredicates(predicate.Funcs{UpdateFunc: podChanged})).
		Watches(&v1alpha1.FireboltInstance{}, r.enginesOf(observe.IndexInstance), builder.WithPredicates(predicate.Funcs{UpdateFunc: instanceChanged})).
		Watches(&v1alpha1.FireboltEngineClass{}, r.enginesOf(observe.IndexClass), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	metrics.CountThrottled(r.limiter.Waiting)
	b = b.WatchesRawSource(r.drains.Source()).WatchesRawSource(r.limiter.Source())
	if gate != nil {
		b = b.WatchesRawSource(gate.Source(&v1alpha1.FireboltEngineList{}))
	}
	if err := b.Complete(edits.Reconciler(r)); err != nil {
		return fmt.Errorf("register the engine controller: %w", err)
	}
	return nil
}

// shouldReconcile drops the events of status writes that no decision depends on: the next
// reconcile already sees our own writes, and it does not use the conditions of other writers.
func (r *Reconciler) shouldReconcile(u event.UpdateEvent) bool {
	oldObj, okOld := u.ObjectOld.(*v1alpha1.FireboltEngine)
	newObj, okNew := u.ObjectNew.(*v1alpha1.FireboltEngine)
	if !okOld || !okNew {
		return true
	}
	own := r.written.Observe(newObj)
	return predicates.MetadataDiffers(oldObj, newObj) ||
		engine.StateOf(oldObj.Status) != engine.StateOf(newObj.Status) ||
		!own && !equality.Semantic.DeepEqual(status.OwnEngine(oldObj.Status), status.OwnEngine(newObj.Status))
}

func podChanged(u event.UpdateEvent) bool {
	oldObj, okOld := u.ObjectOld.(*corev1.Pod)
	newObj, okNew := u.ObjectNew.(*corev1.Pod)
	if !okOld || !okNew {
		return true
	}
	oldTotal, oldReady := observe.Count([]corev1.Pod{*oldObj})
	newTotal, newReady := observe.Count([]corev1.Pod{*newObj})
	return oldTotal != newTotal || oldReady != newReady || oldObj.Status.Phase != newObj.Status.Phase || waitingReasons(oldObj) != waitingReasons(newObj) ||
		workload.Changed(oldObj, newObj)
}

// waitingReasons summarizes the waiting reasons of containers, and why the pod is not scheduled.
func waitingReasons(p *corev1.Pod) string {
	var out strings.Builder
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Waiting != nil {
			out.WriteString(s.Name + "=" + s.State.Waiting.Reason + ";")
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			out.WriteString(c.Reason)
		}
	}
	return out.String()
}

func instanceChanged(u event.UpdateEvent) bool {
	oldObj, okOld := u.ObjectOld.(*v1alpha1.FireboltInstance)
	newObj, okNew := u.ObjectNew.(*v1alpha1.FireboltInstance)
	if !okOld || !okNew {
		return true
	}
	return oldObj.Spec.ID != newObj.Spec.ID || oldObj.Status.MetadataEndpoint != newObj.Status.MetadataEndpoint ||
		oldObj.Spec.MetricScrapeMode != newObj.Spec.MetricScrapeMode
}

func engineOfPod(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[names.LabelEngine]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// enginesOf enqueues the engines that refer to an instance or a class. It does not copy them: only names are used.
func (r *Reconciler) enginesOf(index string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		var list v1alpha1.FireboltEngineList
		err := r.Client.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{index: o.GetName()}, client.UnsafeDisableDeepCopy)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list engines", "index", index, "name", o.GetName())
			return nil
		}
		out := make([]reconcile.Request, 0, len(list.Items))
		for i := range list.Items {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return out
	})
}
