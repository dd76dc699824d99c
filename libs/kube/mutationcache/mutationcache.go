// Package mutationcache lets a controller read its own writes.
//
// An informer cache shows a write shortly after the API server has accepted it. A
// reconcile in between that decides from the stale version may find it equal to the
// desired one, write nothing, and not be enqueued again where a predicate drops events
// of own writes: the wrong write then stays. [Cache] returns to the reconcile what this
// process wrote, until the informer cache shows that version or a newer one.
//
// A cluster that is restored from a backup returns to older versions of the same
// objects. A remembered version is dropped as soon as one of three signs shows that:
// a write with it conflicts ([Cache.Forget]), the informer cache shows an older
// version although it showed the remembered one before, or the informer cache has
// not shown it for [Validity].
//
// controller-runtime can do the same for all kinds that a client writes. That takes
// an informer of each of them, Secrets among them, which no service here may list.
package mutationcache

import (
	"context"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Validity is how long a remembered version that the informer cache has never shown takes
// precedence over the informer cache. After that the controller decides from the
// informer cache, as after a restart.
const Validity = 30 * time.Second

// Cache holds the objects of one kind as this process last wrote them, until the informer cache shows them. A write with
// the resourceVersion that was read succeeds on top of that version only, so the
// remembered object is complete and the newest at that moment, including its spec. Cache
// is safe for concurrent use, and a restart may lose it.
type Cache[T client.Object] struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	last map[types.NamespacedName]write[T]
}

// write is one remembered version.
type write[T client.Object] struct {
	uid      types.UID
	version  string // resourceVersion
	object   T      // as written; dropped once the informer cache has shown it, since that holds it too
	at       time.Time
	observed bool // by the informer cache
}

// is reports whether obj is this version of the same object.
func (w *write[T]) is(obj client.Object) bool {
	return w.uid == obj.GetUID() && w.version == obj.GetResourceVersion()
}

// observe returns the version after the informer cache has shown it.
func (w write[T]) observe() write[T] {
	return write[T]{uid: w.uid, version: w.version, observed: true}
}

// New returns an empty Cache.
func New[T client.Object](clk clock.PassiveClock) *Cache[T] {
	return &Cache[T]{clock: clk, last: map[types.NamespacedName]write[T]{}}
}

// Read reads an object into obj: from the informer cache, or as this process wrote it
// since. In the second case it returns the time after which the caller must read it
// again, in case the informer cache does not show the write by then; zero means never.
//
// It reads the informer cache under the lock. Otherwise the informer cache could show
// the write in between, and the version read before would look like that of a restored
// cluster.
func (m *Cache[T]) Read(ctx context.Context, cache client.Reader, key types.NamespacedName, obj T) (requeueAfter time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := cache.Get(ctx, key, obj); err != nil {
		return 0, err
	}
	own, found := m.last[key]
	if !found {
		return 0, nil
	}
	if own.is(obj) { // kept, so that its event is recognized
		m.last[key] = own.observe()
		return 0, nil
	}
	remaining := Validity - m.clock.Since(own.at)
	if own.observed || remaining <= 0 || own.uid != obj.GetUID() || !newer(own.version, obj.GetResourceVersion()) {
		delete(m.last, key)
		return 0, nil
	}
	set(obj, clone(own.object))
	return remaining, nil
}

// Record keeps a copy of an object from the API server's response to a write, and
// returns [Validity]: read the object again after that time.
func (m *Cache[T]) Record(written T) (requeueAfter time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[client.ObjectKeyFromObject(written)] = write[T]{
		uid: written.GetUID(), version: written.GetResourceVersion(), object: clone(written), at: m.clock.Now(),
	}
	return Validity
}

// Observe records an object that the informer cache shows, and reports whether it is
// exactly what this process wrote last. Call it for every event of the kind.
func (m *Cache[T]) Observe(obj client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	own, found := m.last[key]
	if !found || !own.is(obj) {
		return false
	}
	m.last[key] = own.observe()
	return true
}

// Forget drops the remembered version: the object no longer exists, or a write with
// that version conflicted, so that the API server has another one.
func (m *Cache[T]) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, key)
}

// Patch changes an object itself by a merge patch that carries its resourceVersion, so that no list overwrites the
// change of another writer. If Patch fails, obj is unchanged: the mutation cache must not hold what the API server
// has not accepted.
func Patch[T client.Object](ctx context.Context, c client.Client, obj T, change func(T), options ...client.PatchOption) error {
	after := clone(obj)
	change(after)
	if err := c.Patch(ctx, after, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}), options...); err != nil {
		return err
	}
	set(obj, after)
	return nil
}

// set copies value into obj.
func set[T client.Object](obj, value T) {
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(value).Elem())
}

func clone[T client.Object](obj T) T {
	return obj.DeepCopyObject().(T) // a copy has the type of its original
}

// newer reports whether resource version a of a kind is newer than b; false if they cannot be compared.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
