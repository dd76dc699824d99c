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

// early lets an informer's objects be handled while the first list of them still
// arrives: reading that list and writing its rows then take their time together, not
// one after the other. It is over once the informer has its objects itself.
type early struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*object.Object
	enqueue func(*object.Object) // nil until the controller runs
	over    bool
}

func newEarly() *early {
	return &early{objects: map[types.NamespacedName]*object.Object{}}
}

// arrived is told of each object of a list while the list arrives.
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

// get returns an object that the informer has not got yet, or nil.
func (e *early) get(key types.NamespacedName) *object.Object {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.objects[key]
}

// start is a source: it enqueues what has arrived and what arrives from now on.
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

// unseen lets pass what has not been enqueued by us already.
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

// end is told that the informer has its objects. One that only a broken list has shown
// is gone since, and looked at once more.
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
			continue // its event takes it out
		}
		o := e.objects[key]
		delete(e.objects, key)
		e.enqueue(o)
	}
}

func nameOf(o *object.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}
