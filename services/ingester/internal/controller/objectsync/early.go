package objectsync

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
)

// early enqueues an informer's objects while the first list still arrives, so that
// reading the list and writing its rows run in parallel. It ends once the informer has
// synced.
type early struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*object.Object
	enqueue func(*object.Object) // nil until the controller runs
	over    bool
}

func newEarly() *early {
	return &early{objects: map[types.NamespacedName]*object.Object{}}
}

// arrived adds an object of the first list while the list arrives.
func (e *early) arrived(o *object.Object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	e.objects[nameOf(o)] = o
	if e.enqueue != nil {
		e.enqueue(o)
	}
}

// get returns an object that the informer does not have yet, or nil.
func (e *early) get(key types.NamespacedName) *object.Object {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.objects[key]
}

// start is a source: it enqueues the objects that have arrived and those that arrive later.
func (e *early) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	h := handler.WithLowPriorityWhenUnchanged(&handler.EnqueueRequestForObject{})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.enqueue = func(o *object.Object) {
		h.Create(ctx, event.CreateEvent{Object: o, IsInInitialList: true}, queue)
	}
	for _, o := range e.objects {
		e.enqueue(o)
	}
	return nil
}

// unseen returns a predicate that drops objects which early has already enqueued.
func (e *early) unseen() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(c event.CreateEvent) bool {
		o, ok := c.Object.(*object.Object)
		if !ok {
			return true
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		seen := e.objects[nameOf(o)]
		delete(e.objects, nameOf(o))
		return seen == nil || e.enqueue == nil || seen.UID != o.UID || seen.ResourceVersion != o.ResourceVersion
	}}
}

// end is called when the informer has synced. An object that only an incomplete list
// contained was deleted since, and is enqueued once more.
func (e *early) end(has cache.Store) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	if e.enqueue == nil {
		e.objects = nil
		return
	}
	for _, key := range slices.Collect(maps.Keys(e.objects)) {
		if _, found, err := has.GetByKey(key.String()); found && err == nil {
			continue // unseen removes it
		}
		o := e.objects[key]
		delete(e.objects, key)
		e.enqueue(o)
	}
}

func nameOf(o *object.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}
