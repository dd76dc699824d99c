package enqueue

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ResetPriority wraps a reconciler so that its requeues have the priority of other requests. Otherwise the queue would keep
// the priority of an edit as long as the object is requeued, through a whole rollout.
func ResetPriority(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		result, err := next.Reconcile(ctx, req)
		normal := 0
		result.Priority = &normal
		return result, err
	})
}
