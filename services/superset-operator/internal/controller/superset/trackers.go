package superset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// uidTracker maps the name of a Superset to its last object, whose UID is needed after the deletion.
type uidTracker struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]contract.Object
}

func newUIDTracker() *uidTracker {
	return &uidTracker{objects: map[types.NamespacedName]contract.Object{}}
}

// record stores an object and returns the former object of the same name if its UID differs.
func (k *uidTracker) record(o contract.Object) (before contract.Object, replaced bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	before, found := k.objects[key]
	k.objects[key] = o
	return before, found && before.UID != o.UID
}

// forget removes and returns the object of a name.
func (k *uidTracker) forget(key types.NamespacedName) (contract.Object, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, found := k.objects[key]
	delete(k.objects, key)
	return o, found
}

// errorTracker tracks since when, and with which error, the reconciles of a Superset fail.
type errorTracker struct {
	mu      sync.Mutex
	start   map[types.NamespacedName]time.Time
	message map[types.NamespacedName]string
}

func newErrorTracker() *errorTracker {
	return &errorTracker{start: map[types.NamespacedName]time.Time{}, message: map[types.NamespacedName]string{}}
}

// failingSince returns when the failure began; nil if the last reconcile succeeded.
func (t *errorTracker) failingSince(sup *v1alpha1.Superset, failed bool, now time.Time) *time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(sup)
	if !failed {
		delete(t.start, key)
		return nil
	}
	start, found := t.start[key]
	if !found {
		start = now.Truncate(time.Second)
		t.start[key] = start
	}
	return &start
}

// changed returns the text of the error, and whether it differs from that of the last reconcile.
func (t *errorTracker) changed(sup *v1alpha1.Superset, err error) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(sup)
	if err == nil {
		delete(t.message, key)
		return "", false
	}
	before := t.message[key]
	t.message[key] = err.Error()
	return err.Error(), before != err.Error()
}

func (t *errorTracker) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.start, key)
	delete(t.message, key)
}
