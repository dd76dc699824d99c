package enqueue

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// MinFailedRequeue is the shortest delay of a requeue after a failure, since a time that has passed would remain so.
const MinFailedRequeue = time.Second

// Timers lets a controller requeue an object also after a failed reconcile. controller-runtime ignores the RequeueAfter of a
// result with an error, so whatever else the object waits for would wait for the backoff of that failure.
type Timers struct {
	queue workqueue.TypedRateLimitingInterface[reconcile.Request] // set before the first reconcile
}

// Source connects the Timers to the queue of the controller, which must watch it; it sends no events.
func (t *Timers) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		t.queue = queue
		return nil
	})
}

// Reconciler wraps the controller's reconciler, which returns a RequeueAfter with an error if the failure does not concern what
// it waits for. The next reconcile begins after that delay, or after the backoff if it is shorter.
func (t *Timers) Reconciler(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		result, err := next.Reconcile(ctx, req)
		if err != nil && result.RequeueAfter > 0 {
			t.queue.AddAfter(req, max(result.RequeueAfter, MinFailedRequeue))
			result.RequeueAfter = 0
		}
		return result, err
	})
}
