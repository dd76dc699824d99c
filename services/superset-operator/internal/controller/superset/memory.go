package superset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// known maps the name of a Superset to its last object, whose UID is needed after the deletion.
type known struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]contract.Object
}

func newKnown() *known { return &known{objects: map[types.NamespacedName]contract.Object{}} }

// remember stores an object and returns the former object of the same name if its UID differs.
func (k *known) remember(o contract.Object) (before contract.Object, replaced bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	before, found := k.objects[key]
	k.objects[key] = o
	return before, found && before.UID != o.UID
}

// forget removes and returns the object of a name.
func (k *known) forget(key types.NamespacedName) (contract.Object, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, found := k.objects[key]
	delete(k.objects, key)
	return o, found
}

// trouble tracks since when, and with which error, the reconciles of a Superset fail.
type trouble struct {
	mu      sync.Mutex
	start   map[types.NamespacedName]time.Time
	message map[types.NamespacedName]string
}

func newTrouble() *trouble {
	return &trouble{start: map[types.NamespacedName]time.Time{}, message: map[types.NamespacedName]string{}}
}

// since returns when the failure began; nil if the last reconcile succeeded.
func (t *trouble) since(sup *v1alpha1.Superset, failed bool, now time.Time) *time.Time {
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

// news returns the text of the error, and whether it differs from that of the last reconcile.
func (t *trouble) news(sup *v1alpha1.Superset, err error) (string, bool) {
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

func (t *trouble) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.start, key)
	delete(t.message, key)
}
