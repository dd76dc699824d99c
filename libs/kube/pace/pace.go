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

// Bounds of the rest of an object after a successful reconcile. The rest is as long as the reconcile, which depends on the
// latency of the API server, so a loaded API server gets fewer requests.
const (
	MinRest = 100 * time.Millisecond
	MaxRest = 2 * time.Second
)

// Reconciler delays the reconciles of the reconciler that it wraps.
type Reconciler struct {
	next  reconcile.Reconciler
	clock clock.WithDelayedExecution

	mu    sync.Mutex
	rests map[ctrl.Request]time.Time // ends of the current rests
}

// New wraps a reconciler. The first reconcile of an object after a rest is not delayed.
func New(next reconcile.Reconciler, clk clock.WithDelayedExecution) *Reconciler {
	return &Reconciler{next: next, clock: clk, rests: map[ctrl.Request]time.Time{}}
}

// Reconcile calls the wrapped reconciler, or requeues the request for the end of the rest. A failed reconcile has no rest:
// the backoff of the queue follows, and a requeue would reset it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	begin := r.clock.Now()
	if wait := r.wait(req, begin); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	result, err := r.next.Reconcile(ctx, req)
	if err == nil {
		r.rest(req, min(max(r.clock.Since(begin), MinRest), MaxRest))
	}
	return result, err
}

func (r *Reconciler) wait(req ctrl.Request, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	end, found := r.rests[req]
	if !found {
		return 0
	}
	return end.Sub(now)
}

// rest remembers the end of a rest until then: the map holds busy objects only.
func (r *Reconciler) rest(req ctrl.Request, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.clock.Now().Add(d)
	r.rests[req] = end
	r.clock.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.rests[req].Equal(end) {
			delete(r.rests, req)
		}
	})
}
