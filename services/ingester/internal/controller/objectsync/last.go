package objectsync

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
)

// lastStates holds the last state of deleted objects that only foreign finalizers held, until
// it is stored. Our finalizer did not hold them, so the cache may show the deletion of such
// an object before the changes that immediately preceded it.
type lastStates struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*object.Object
}

// predicate accepts every event, and keeps the last state from deletions.
func (l *lastStates) predicate() predicate.Predicate {
	return predicate.Funcs{DeleteFunc: func(d event.DeleteEvent) bool {
		o, ok := d.Object.(*object.Object)
		if ok && decide.HeldByOthers(o) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.objects == nil {
				l.objects = map[types.NamespacedName]*object.Object{}
			}
			l.objects[nameOf(o)] = o
		}
		return true
	}}
}

func (l *lastStates) get(key types.NamespacedName) *object.Object {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.objects[key]
}

// forget drops a stored state, unless a later object of the same name was deleted meanwhile.
func (l *lastStates) forget(o *object.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects[nameOf(o)] == o {
		delete(l.objects, nameOf(o))
	}
}
