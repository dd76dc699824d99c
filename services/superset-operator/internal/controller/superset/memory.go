package superset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// known remembers which object stood behind a name, for the time when it is gone.
type known struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]contract.Object
}

func newKnown() *known { return &known{objects: map[types.NamespacedName]contract.Object{}} }

// remember returns the object that stood behind the same name before, if it was another one.
func (k *known) remember(o contract.Object) (before contract.Object, replaced bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	before, found := k.objects[key]
	k.objects[key] = o
	return before, found && before.UID != o.UID
}

// forget returns the object that stood behind the name, if there was one.
func (k *known) forget(key types.NamespacedName) (contract.Object, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, found := k.objects[key]
	delete(k.objects, key)
	return o, found
}

// trouble remembers since when, and for what reason, the reconciles of a Superset fail.
type trouble struct {
	mu      sync.Mutex
	start   map[types.NamespacedName]time.Time
	message map[types.NamespacedName]string
}

func newTrouble() *trouble {
	return &trouble{start: map[types.NamespacedName]time.Time{}, message: map[types.NamespacedName]string{}}
}

// since returns when the trouble began; nil when there is none.
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

// news returns the text of an error, and whether the last reconcile failed for another reason or not at all.
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
