// Package lastwritten lets a controller read its own writes.
//
// A cache shows a write a moment after the API server has taken it. A reconcile
// in that moment that decides from the cache finds that its older version says
// already what is to be said, writes nothing, and is not woken again where events
// of own writes are dropped: what was written stands, though it is wrong. [Memory]
// gives the reconcile what this process wrote, until the cache shows that version
// or a newer one.
//
// controller-runtime can do the same for all kinds that a client writes. That takes
// an informer of each of them, Secrets among them, which no service here may list.
package lastwritten

import (
	"context"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Memory has the objects of one kind as this process last wrote them. A write under
// the resourceVersion that was read succeeds on top of that version only, so what is
// remembered is all of the newest object at that moment, its spec included. It is safe
// for concurrent use, and a restart may lose it.
type Memory[T client.Object] struct {
	mu   sync.Mutex
	last map[types.NamespacedName]T
}

// New returns an empty memory.
func New[T client.Object]() *Memory[T] {
	return &Memory[T]{last: map[types.NamespacedName]T{}}
}

// Newest returns the object as the cache has it, or as it was written since. The result
// is the caller's.
func (m *Memory[T]) Newest(cached T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(cached)
	own, found := m.last[key]
	if !found {
		return cached
	}
	if own.GetUID() != cached.GetUID() || !newer(own.GetResourceVersion(), cached.GetResourceVersion()) {
		delete(m.last, key)
		return cached
	}
	return clone(own)
}

// Remember keeps a copy of an object as the API server answered a write with it.
func (m *Memory[T]) Remember(written T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[client.ObjectKeyFromObject(written)] = clone(written)
}

// Wrote says whether the object is, as it stands, what this process wrote last.
func (m *Memory[T]) Wrote(obj client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	own, found := m.last[client.ObjectKeyFromObject(obj)]
	return found && own.GetResourceVersion() == obj.GetResourceVersion()
}

// Forget drops an object that no longer exists.
func (m *Memory[T]) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, key)
}

// Edit changes an object itself by a merge patch that carries its resourceVersion, so that no list replaces somebody
// else's. When it fails, obj is as it was: what the API server has not taken must not be remembered.
func Edit[T client.Object](ctx context.Context, c client.Client, obj T, change func(T), options ...client.PatchOption) error {
	after := clone(obj)
	change(after)
	if err := c.Patch(ctx, after, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}), options...); err != nil {
		return err
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(after).Elem())
	return nil
}

func clone[T client.Object](obj T) T {
	return obj.DeepCopyObject().(T) //nolint:forcetypeassert // a copy has the type of its original
}

// newer compares two resource versions of one kind; what cannot be compared is not newer.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
