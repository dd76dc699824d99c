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

// initialListBuffer enqueues an informer's objects while the initial list still arrives, so
// that reading the list and writing its rows run in parallel. It ends once the informer has
// synced.
type initialListBuffer struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*object.Object
	enqueue func(*object.Object) // nil until the controller runs
	synced  bool
}

func newInitialListBuffer() *initialListBuffer {
	return &initialListBuffer{objects: map[types.NamespacedName]*object.Object{}}
}

// add adds an object of the initial list while the list arrives.
func (e *initialListBuffer) add(o *object.Object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.synced {
		return
	}
	e.objects[nameOf(o)] = o
	if e.enqueue != nil {
		e.enqueue(o)
	}
}

// get returns an object that the informer does not have yet, or nil.
func (e *initialListBuffer) get(key types.NamespacedName) *object.Object {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.objects[key]
}

// each calls fn for each object that the informer does not have yet.
func (e *initialListBuffer) each(fn func(*object.Object)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range e.objects {
		fn(o)
	}
}

// start implements a source. It enqueues the objects that have arrived and those that arrive later.
func (e *initialListBuffer) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.enqueue = enqueueIn(ctx, queue)
	for _, o := range e.objects {
		e.enqueue(o)
	}
	return nil
}

// enqueueIn returns a function that enqueues an object with low priority.
func enqueueIn(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) func(*object.Object) {
	h := handler.WithLowPriorityWhenUnchanged(&handler.EnqueueRequestForObject{})
	return func(o *object.Object) { h.Create(ctx, event.CreateEvent{Object: o, IsInInitialList: true}, queue) }
}

// notEnqueued returns a predicate that drops objects which the buffer has already enqueued.
func (e *initialListBuffer) notEnqueued() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(c event.CreateEvent) bool {
		o, ok := c.Object.(*object.Object)
		if !ok {
			return true
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		buffered := e.objects[nameOf(o)]
		delete(e.objects, nameOf(o))
		return buffered == nil || e.enqueue == nil || buffered.UID != o.UID || buffered.ResourceVersion != o.ResourceVersion
	}}
}

// markSynced ends the buffer when the informer has synced. An object that only an incomplete
// list contained was deleted since, and is enqueued once more.
func (e *initialListBuffer) markSynced(store cache.Store) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.synced = true
	if e.enqueue == nil {
		e.objects = nil
		return
	}
	for _, key := range slices.Collect(maps.Keys(e.objects)) {
		if _, found, err := store.GetByKey(key.String()); found && err == nil {
			continue // notEnqueued removes it
		}
		o := e.objects[key]
		delete(e.objects, key)
		e.enqueue(o)
	}
}

func nameOf(o *object.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}
