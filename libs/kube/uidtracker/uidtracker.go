// Package uidtracker detects that an object was deleted, or replaced by another one of its name, and keeps its UID for
// that: a controller publishes the deletion, and drops its state in memory, by UID.
package uidtracker

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Tracker has the last version of each object by its name. It is safe for concurrent use. A restart loses it.
type Tracker struct {
	deleted func(contract.Object)

	mu      sync.Mutex
	objects map[types.NamespacedName]contract.Object
}

// New returns an empty Tracker. It calls deleted once for each recorded object that does not exist anymore.
func New(deleted func(contract.Object)) *Tracker {
	return &Tracker{deleted: deleted, objects: map[types.NamespacedName]contract.Object{}}
}

// Record stores an object that exists. A former one of the same name with another UID was deleted.
func (t *Tracker) Record(o contract.Object) {
	t.mu.Lock()
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	before, found := t.objects[key]
	t.objects[key] = o
	t.mu.Unlock()
	if found && before.UID != o.UID {
		t.deleted(before)
	}
}

// Remove removes the object of a name, which does not exist anymore.
func (t *Tracker) Remove(key types.NamespacedName) {
	t.mu.Lock()
	o, found := t.objects[key]
	delete(t.objects, key)
	t.mu.Unlock()
	if found {
		t.deleted(o)
	}
}
