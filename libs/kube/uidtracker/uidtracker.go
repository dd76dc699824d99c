// Package uidtracker maps the name of an object to its UID, which a controller needs after the deletion: to publish it,
// and to drop its state in memory by UID.
package uidtracker

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Tracker maps the name of an object to its last version. It is safe for concurrent use. A restart may lose it.
type Tracker struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]contract.Object
}

// New returns an empty Tracker.
func New() *Tracker {
	return &Tracker{objects: map[types.NamespacedName]contract.Object{}}
}

// Record stores an object and returns the former object of the same name if its UID differs.
func (t *Tracker) Record(o contract.Object) (before contract.Object, replaced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	before, found := t.objects[key]
	t.objects[key] = o
	return before, found && before.UID != o.UID
}

// Forget removes and returns the object of a name.
func (t *Tracker) Forget(key types.NamespacedName) (contract.Object, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o, found := t.objects[key]
	delete(t.objects, key)
	return o, found
}
