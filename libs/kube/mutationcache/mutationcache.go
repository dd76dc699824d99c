// Package mutationcache lets a controller read its own writes.
//
// A cache shows a write a moment after the API server has taken it. A reconcile
// in that moment that decides from the cache finds that its older version says
// already what is to be said, writes nothing, and is not woken again where events
// of own writes are dropped: what was written stands, though it is wrong. [Cache]
// gives the reconcile what this process wrote, until the cache shows that version
// or a newer one.
//
// A cluster that is restored from a backup goes back to older versions of the same
// objects. A remembered version gives way to them as soon as one of three things
// shows it: a write under it conflicts ([Cache.Forget]), the cache shows an older
// version although it showed the remembered one before, or the cache has not shown
// it for [Validity].
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

// Validity is for how long a remembered version that the cache has never shown is
// preferred to the cache. Afterwards the controller is as after a restart: what it
// decides from the cache carries the resourceVersion of the cache.
const Validity = 30 * time.Second

// Cache has the objects of one kind as this process last wrote them. A write under
// the resourceVersion that was read succeeds on top of that version only, so what is
// remembered is all of the newest object at that moment, its spec included. It is safe
// for concurrent use, and a restart may lose it.
type Cache[T client.Object] struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	last map[types.NamespacedName]write[T]
}

// write is one remembered version.
type write[T client.Object] struct {
	object T
	at     time.Time
	shown  bool // by the cache
}

// New returns an empty memory.
func New[T client.Object](clk clock.PassiveClock) *Cache[T] {
	return &Cache[T]{clock: clk, last: map[types.NamespacedName]write[T]{}}
}

// Read reads an object into obj: as the cache has it, or as it was written since.
// Then it says after how long the caller has to read it again, should the cache not
// show the write by then; zero means never.
//
// The cache is read while the memory is locked. Otherwise the cache could show the
// write in between, and the version read before would look like that of a restored
// cluster.
func (m *Cache[T]) Read(ctx context.Context, cache client.Reader, key types.NamespacedName, obj T) (again time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := cache.Get(ctx, key, obj); err != nil {
		return 0, err
	}
	own, found := m.last[key]
	if !found {
		return 0, nil
	}
	if isSame(own.object, obj) { // kept, so that its event is recognized
		own.shown = true
		m.last[key] = own
		return 0, nil
	}
	left := Validity - m.clock.Since(own.at)
	if own.shown || left <= 0 || own.object.GetUID() != obj.GetUID() ||
		!newer(own.object.GetResourceVersion(), obj.GetResourceVersion()) {
		delete(m.last, key)
		return 0, nil
	}
	set(obj, clone(own.object))
	return left, nil
}

// Record keeps a copy of an object as the API server answered a write with it, and
// returns [Validity]: read the object again after that time.
func (m *Cache[T]) Record(written T) (again time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[client.ObjectKeyFromObject(written)] = write[T]{object: clone(written), at: m.clock.Now()}
	return Validity
}

// Observe takes note of an object that the cache shows, and says whether it is, as it
// stands, what this process wrote last. Call it for every event of the kind.
func (m *Cache[T]) Observe(obj client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	own, found := m.last[key]
	if !found || !isSame(own.object, obj) {
		return false
	}
	own.shown = true
	m.last[key] = own
	return true
}

// Forget drops what is remembered: the object no longer exists, or a write under the
// remembered version conflicted, so that the API server has another one.
func (m *Cache[T]) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, key)
}

// Patch changes an object itself by a merge patch that carries its resourceVersion, so that no list replaces somebody
// else's. When it fails, obj is as it was: what the API server has not taken must not be remembered.
func Patch[T client.Object](ctx context.Context, c client.Client, obj T, change func(T), options ...client.PatchOption) error {
	after := clone(obj)
	change(after)
	if err := c.Patch(ctx, after, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}), options...); err != nil {
		return err
	}
	set(obj, after)
	return nil
}

// set makes obj what value is.
func set[T client.Object](obj, value T) {
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(value).Elem())
}

func clone[T client.Object](obj T) T {
	return obj.DeepCopyObject().(T) //nolint:forcetypeassert // a copy has the type of its original
}

// isSame reports whether both are the same version of the same object.
func isSame(a, b client.Object) bool {
	return a.GetUID() == b.GetUID() && a.GetResourceVersion() == b.GetResourceVersion()
}

// newer compares two resource versions of one kind; what cannot be compared is not newer.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
