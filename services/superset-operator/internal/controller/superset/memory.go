package superset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// written remembers the Supersets as this process last wrote them, until the
// cache shows that version or a newer one. A write succeeds only on top of the
// version that was read, so what is remembered is the newest version at that
// moment, spec included. Deciding from it instead of from a cache that lags saves
// both a conflict and a second decision from old data.
type written struct {
	mu   sync.Mutex
	last map[types.NamespacedName]*v1alpha1.Superset
}

func newWritten() *written { return &written{last: map[types.NamespacedName]*v1alpha1.Superset{}} }

// newest returns the cached object, or what was written since. The result is the caller's.
func (w *written) newest(cached *v1alpha1.Superset) *v1alpha1.Superset {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(cached)
	own, found := w.last[key]
	if !found {
		return cached
	}
	if own.UID != cached.UID || !newer(own.ResourceVersion, cached.ResourceVersion) {
		delete(w.last, key)
		return cached
	}
	return own.DeepCopy()
}

func (w *written) remember(sup *v1alpha1.Superset) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[client.ObjectKeyFromObject(sup)] = sup.DeepCopy()
}

// wrote says whether the object is, as it stands, what this process wrote.
func (w *written) wrote(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	own, found := w.last[client.ObjectKeyFromObject(obj)]
	return found && own.ResourceVersion == obj.GetResourceVersion()
}

func (w *written) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, key)
}

// newer compares two resource versions of one kind; what cannot be compared is not newer.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

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
