// Package enqueue decides which requests a controller handles first, and when it handles one again.
package enqueue

import (
	"context"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Priorities of edited objects. All other requests have zero or less.
const (
	EditPriority = 100
	// BulkPriority is the priority of the edits beyond the share of their namespace.
	BulkPriority = 99
	// Share is the number of edits of one namespace that may wait with EditPriority.
	Share = 8
)

// Edits lets a controller handle edits before all other requests. An edit is a change by a user: of the spec, of the
// annotations, which carry commands, or the deletion. Otherwise an edit would wait behind the events of a rollout of all objects.
//
// Namespaces take turns, so an edit does not wait behind a script that edits thousands of objects in another namespace.
type Edits struct {
	mu      sync.Mutex
	waiting map[string]sets.Set[string] // names by namespace of the requests with EditPriority
}

// NewEdits returns the Edits of one controller.
func NewEdits() *Edits { return &Edits{waiting: map[string]sets.Set[string]{}} }

// Handler returns a handler that enqueues edited objects and ignores all other events: a controller watches its kind with it
// in addition to builder.For.
func (e *Edits) Handler() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, u event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
			if !ok || !isEdit(u) {
				return
			}
			req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(u.ObjectNew)}
			priority := e.priority(req)
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, req)
		},
	}
}

// Reconciler wraps the controller's reconciler. Its requeues have the priority of other requests: otherwise the queue would keep
// the priority of an edit as long as the object is requeued, through a whole rollout.
func (e *Edits) Reconciler(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		e.remove(req)
		result, err := next.Reconcile(ctx, req)
		normal := 0
		result.Priority = &normal
		return result, err
	})
}

// priority returns the priority of an edit, which waits from now on.
func (e *Edits) priority(req reconcile.Request) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := e.waiting[req.Namespace]
	switch {
	case names == nil:
		e.waiting[req.Namespace] = sets.New(req.Name)
	case names.Len() < Share || names.Has(req.Name):
		names.Insert(req.Name)
	default:
		return BulkPriority
	}
	return EditPriority
}

// remove removes a request that no longer waits.
func (e *Edits) remove(req reconcile.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := e.waiting[req.Namespace]
	if names.Delete(req.Name); names.Len() == 0 {
		delete(e.waiting, req.Namespace)
	}
}

func isEdit(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
}
