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
	// patience is how long a StatefulSet may be without its pods before its events are read:
	// the ordinary moments of a creation cost no request.
	patience = 3 * time.Second
	// refresh is how long an answer is good for.
	refresh = 10 * time.Second
)

// warningCache remembers the last answer for each StatefulSet.
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

func (w *warningCache) keep(uid types.UID, h cachedWarning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[uid] = h
}

func (w *warningCache) forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, uid)
}

// warn searches the reason why pods of the current generation are missing (seed 001,
// "StatefulSet event propagation"). It is a help, never an obstacle: a failed look is
// logged and counted, and the reconcile continues.
func (c *Reconciler) warn(ctx context.Context, p *reconcileState) (steps.Result, error) {
	set := p.children.StatefulSets[p.plan.Next.Current]
	if set == nil || p.snapshot.Generations[p.plan.Next.Current].PodsTotal >= ptr.Deref(set.Spec.Replicas, 1) {
		c.warnings.forget(p.engine.UID)
		return steps.Result{}, nil
	}
	now := c.Clock.Now()
	if age := now.Sub(set.CreationTimestamp.Time); age < patience {
		return steps.Result{Requeue: patience - age}, nil
	}
	h := c.warnings.last(p.engine.UID)
	if h.set != set.UID || now.Sub(h.at) >= refresh {
		found, err := c.warningOf(ctx, set)
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("Failed to read the events of a StatefulSet", "statefulset", set.Name, "error", err.Error())
			metrics.EventReadFailed()
			return steps.Result{Requeue: refresh}, nil
		}
		h = cachedWarning{set: set.UID, at: now, warning: found}
		c.warnings.keep(p.engine.UID, h)
	}
	p.warning = h.warning
	return steps.Result{Requeue: refresh}, nil
}

// warningOf asks the API server and no cache: events are many, and needed rarely. It reads
// all of the StatefulSet's: a list is in the order of names, and the newest may be the last.
func (c *Reconciler) warningOf(ctx context.Context, set *appsv1.StatefulSet) (status.Warning, error) {
	list, err := c.Events.Events(set.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.uid": string(set.UID), "type": corev1.EventTypeWarning}.String(),
	})
	if err != nil {
		return status.Warning{}, err
	}
	return status.WarningOf(set.Name, list.Items), nil
}
