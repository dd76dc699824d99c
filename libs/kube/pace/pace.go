// Package pace limits how often one object is reconciled.
//
// A rollout sends many events of pods and workloads within a fraction of a second. A reconcile for each of them costs
// CPU time, and one that begins before the informer caches show the writes of the last one sends requests that the
// API server rejects. [New] wraps a reconciler so that a burst of events causes one reconcile.
package pace

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Bounds of the pause of an object after a successful reconcile. The pause is as long as the reconcile, which depends on the
// latency of the API server, so a loaded API server gets fewer requests.
const (
	MinPause = 100 * time.Millisecond
	MaxPause = 2 * time.Second
)

// Reconciler delays the reconciles of the reconciler that it wraps.
type Reconciler struct {
	next  reconcile.Reconciler
	clock clock.WithDelayedExecution

	mu     sync.Mutex
	pauses map[ctrl.Request]time.Time // ends of the current pauses
}

// New wraps a reconciler. The first reconcile of an object after a pause is not delayed.
func New(next reconcile.Reconciler, clk clock.WithDelayedExecution) *Reconciler {
	return &Reconciler{next: next, clock: clk, pauses: map[ctrl.Request]time.Time{}}
}

// Reconcile calls the wrapped reconciler, or requeues the request for the end of the pause. A failed reconcile has no pause:
// the backoff of the queue follows, and a requeue would reset it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	start := r.clock.Now()
	if wait := r.wait(req, start); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	result, err := r.next.Reconcile(ctx, req)
	if err == nil {
		r.pause(req, min(max(r.clock.Since(start), MinPause), MaxPause))
	}
	return result, err
}

func (r *Reconciler) wait(req ctrl.Request, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	end, found := r.pauses[req]
	if !found {
		return 0
	}
	return end.Sub(now)
}

// pause starts the pause of an object. The entry is removed at the end, so the map holds only objects that pause.
func (r *Reconciler) pause(req ctrl.Request, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.clock.Now().Add(d)
	r.pauses[req] = end
	r.clock.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.pauses[req].Equal(end) {
			delete(r.pauses, req)
		}
	})
}
