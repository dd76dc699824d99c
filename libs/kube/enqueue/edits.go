// Package enqueue adds requests to the queue of a controller.
package enqueue

import (
	"context"
	"maps"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// EditPriority is the priority of an edited object. All other requests have zero or less.
const EditPriority = 100

// Edits returns a handler that enqueues an object before all others when a user edits it: its spec, its annotations, which carry
// commands, or its deletion. Otherwise an edit would wait behind the events of a rollout of all objects.
//
// It ignores all other events: a controller watches its kind with it in addition to builder.For.
func Edits() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
			if ok && isEdit(e) {
				priority := EditPriority
				q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.ObjectNew)})
			}
		},
	}
}

func isEdit(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
}
