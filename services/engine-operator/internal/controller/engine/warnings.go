package engine

import (
	"context"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

const (
	// gracePeriod is how long a StatefulSet may be without its pods before its events are read:
	// the ordinary moments of a creation cost no request.
	gracePeriod = 3 * time.Second
	// refreshInterval is how long a result is cached.
	refreshInterval = 10 * time.Second
)

// warningCache keeps the latest result for each StatefulSet.
type warningCache struct {
	mu sync.Mutex
	of map[types.UID]cachedWarning // by engine
}

type cachedWarning struct {
	set     types.UID
	at      time.Time
	warning status.Warning
}

func (w *warningCache) last(uid types.UID) cachedWarning {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[uid]
}

func (w *warningCache) store(uid types.UID, h cachedWarning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[uid] = h
}

func (w *warningCache) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, uid)
}

// readWarnings searches the reason why pods of the current generation are missing (seed 001,
// "StatefulSet event propagation"). A failure of the
// list is logged and counted, and the reconcile continues.
func (r *Reconciler) readWarnings(ctx context.Context, s *reconcileState) (steps.Result, error) {
	set := s.children.StatefulSets[s.plan.Next.Current]
	if set == nil || s.snapshot.Generations[s.plan.Next.Current].PodsTotal >= ptr.Deref(set.Spec.Replicas, 1) {
		r.warnings.forget(s.engine.UID)
		return steps.Result{}, nil
	}
	now := r.Clock.Now()
	if age := now.Sub(set.CreationTimestamp.Time); age < gracePeriod {
		return steps.Result{Requeue: gracePeriod - age}, nil
	}
	h := r.warnings.last(s.engine.UID)
	if h.set != set.UID || now.Sub(h.at) >= refreshInterval {
		found, err := r.latestWarning(ctx, set)
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("Failed to read the events of a StatefulSet", "statefulset", set.Name, "error", err.Error())
			metrics.EventReadFailed()
			return steps.Result{Requeue: refreshInterval}, nil
		}
		h = cachedWarning{set: set.UID, at: now, warning: found}
		r.warnings.store(s.engine.UID, h)
	}
	s.warning = h.warning
	return steps.Result{Requeue: refreshInterval}, nil
}

// latestWarning reads from the API server, not from a cache: events are many, and needed rarely. It reads
// all of the StatefulSet's: a list is in the order of names, and the newest may be the last.
func (r *Reconciler) latestWarning(ctx context.Context, set *appsv1.StatefulSet) (status.Warning, error) {
	list, err := r.Events.Events(set.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.uid": string(set.UID), "type": corev1.EventTypeWarning}.String(),
	})
	if err != nil {
		return status.Warning{}, err
	}
	return status.WarningOf(set.Name, list.Items), nil
}
