package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// ErrNotFound reports that the object does not exist.
var ErrNotFound = errors.New("object does not exist")

const (
	// maxDeleted is the maximum number of last states that are kept.
	maxDeleted = 10_000
	// lastStateTTL is how long a last state is kept for the leader. A new leader needs it only for the deletions that its
	// predecessor left: it writes within 10 s of a crash, and within a minute if it has to read long streams.
	lastStateTTL = 10 * time.Minute
	// expireInterval is the interval of the checks for expired last states.
	expireInterval = time.Minute
)

// crdKind selects the metadata of CRDs.
var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// Config selects the kinds to watch and the callbacks.
type Config struct {
	Cache cache.Cache
	// APIReader reads from the API server.
	APIReader client.Reader
	Kinds     registry.Set
	Cluster   string
	Clock     clock.WithTicker
	// Publishing reports whether a leader can publish deletions. Last states do not expire while none can.
	Publishing func() bool
	// OnObject is called when an object was created, changed or deleted.
	OnObject func(contract.Ref)
	// OnKind is called when a kind is watched, after OnObject for all of its objects.
	OnKind func(registry.Kind)
}

// Watcher watches the managed kinds.
type Watcher struct {
	cfg Config

	mu       sync.Mutex
	followed map[contract.Kind]bool
	deleted  map[contract.Ref]deletedObject
}

// deletedObject is the last state of a deleted object.
type deletedObject struct {
	last *unstructured.Unstructured
	at   time.Time // of the deletion, or later: time in which no leader could publish does not count
}

// New returns a watcher that watches no kind before [Watcher.Start].
func New(cfg Config) *Watcher {
	return &Watcher{cfg: cfg, followed: map[contract.Kind]bool{}, deleted: map[contract.Ref]deletedObject{}}
}

// Start watches until the context ends.
func (w *Watcher) Start(ctx context.Context) error {
	desired := map[string]*follower{}
	var running sync.WaitGroup
	defer running.Wait()
	for _, kind := range w.cfg.Kinds.Kinds() {
		f := &follower{watcher: w, kind: kind, changed: make(chan struct{}, 1)}
		desired[kind.CRD()] = f
		running.Go(func() { f.run(ctx) })
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(crdKind)
	informer, err := w.cfg.Cache.GetInformer(ctx, crd)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("watch CustomResourceDefinitions: %w", err)
	}
	notify := func(obj any, exists bool) {
		if o, ok := metaObject(obj); ok {
			if f := desired[o.GetName()]; f != nil {
				f.want(exists)
			}
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { notify(obj, true) },
		UpdateFunc: func(_, obj any) { notify(obj, true) },
		DeleteFunc: func(obj any) { notify(obj, false) },
	}); err != nil {
		return fmt.Errorf("watch CustomResourceDefinitions: %w", err)
	}
	ticker := w.cfg.Clock.NewTicker(expireInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			w.expire()
		}
	}
}

// Get reads an object from the cache. It returns [ErrNotFound] only if neither the cache nor the API
// server has it, so a stale cache never makes
// an object disappear.
func (w *Watcher) Get(ctx context.Context, kind registry.Kind, ref contract.Ref) (Object, error) {
	if w.IsFollowed(ref.Kind) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind.GVK)
		err := w.cfg.Cache.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, u)
		if err == nil {
			return Read(kind, u)
		}
		if !apierrors.IsNotFound(err) {
			return Object{}, fmt.Errorf("read %s %s/%s: %w", kind.GVK.Kind, ref.Namespace, ref.Name, err)
		}
	}
	if _, err := w.GetUncachedUID(ctx, kind, ref); err != nil {
		return Object{}, err
	}
	return Object{}, ErrStale
}

// ErrStale reports that the object exists but is not in the cache yet; its event will arrive.
var ErrStale = errors.New("object is not in the cache yet")

// GetUncachedUID reads the UID of the incarnation that the API server has, or returns [ErrNotFound].
func (w *Watcher) GetUncachedUID(ctx context.Context, kind registry.Kind, ref contract.Ref) (string, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(kind.GVK)
	err := w.cfg.APIReader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, m)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return "", ErrNotFound
	case err != nil:
		return "", fmt.Errorf("read %s %s/%s: %w", kind.GVK.Kind, ref.Namespace, ref.Name, err)
	}
	return string(m.GetUID()), nil
}

// GetUncached reads an object from the API server, or returns [ErrNotFound].
func (w *Watcher) GetUncached(ctx context.Context, kind registry.Kind, ref contract.Ref) (Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK)
	err := w.cfg.APIReader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, u)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return Object{}, ErrNotFound
	case err != nil:
		return Object{}, fmt.Errorf("read %s %s/%s: %w", kind.GVK.Kind, ref.Namespace, ref.Name, err)
	}
	return Read(kind, u)
}

// IsFollowed reports whether the objects of a kind are in the cache.
func (w *Watcher) IsFollowed(kind contract.Kind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.followed[kind]
}

// List returns the references of all objects in the cache.
func (w *Watcher) List(ctx context.Context) ([]contract.Ref, error) {
	var out []contract.Ref
	for _, kind := range w.cfg.Kinds.Kinds() {
		if !w.IsFollowed(kind.Token) {
			continue
		}
		objects := &unstructured.UnstructuredList{}
		objects.SetGroupVersionKind(kind.GVK.GroupVersion().WithKind(kind.GVK.Kind + "List"))
		if err := w.cfg.Cache.List(ctx, objects, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
		}
		for i := range objects.Items {
			out = append(out, w.ref(kind, &objects.Items[i]))
		}
	}
	return out, nil
}

// Last returns the last state of a deleted incarnation, until [Watcher.Drop] or its expiry.
func (w *Watcher) Last(kind registry.Kind, ref contract.Ref, uid string) (Object, bool) {
	w.mu.Lock()
	u := w.deleted[ref].last
	w.mu.Unlock()
	if u == nil || string(u.GetUID()) != uid {
		return Object{}, false
	}
	o, err := Read(kind, u)
	return o, err == nil
}

// Drop drops the last state of a deleted incarnation.
func (w *Watcher) Drop(ref contract.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.deleted, ref)
}

func (w *Watcher) ref(kind registry.Kind, o metav1.Object) contract.Ref {
	return contract.Ref{Cluster: w.cfg.Cluster, Namespace: o.GetNamespace(), Kind: kind.Token, Name: o.GetName()}
}

func (w *Watcher) setFollowed(kind contract.Kind, followed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followed[kind] = followed
}

func (w *Watcher) keepDeleted(ref contract.Ref, u *unstructured.Unstructured) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.deleted[ref]; !known && len(w.deleted) >= maxDeleted {
		for other := range w.deleted {
			delete(w.deleted, other) // any one: without a last state its deletion is marked as a gap
			break
		}
	}
	w.deleted[ref] = deletedObject{last: lastState(u), at: w.cfg.Clock.Now()}
}

// expire drops the last states that this process has not needed: another process was the leader and published the deletions.
func (w *Watcher) expire() {
	now, publishing := w.cfg.Clock.Now(), w.cfg.Publishing()
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref, d := range w.deleted {
		switch {
		case !publishing:
			d.at = now
			w.deleted[ref] = d
		case now.Sub(d.at) >= lastStateTTL:
			delete(w.deleted, ref)
		}
	}
}

// lastState returns a copy with what [Read] reads.
func lastState(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	if metadata, ok := u.Object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		out.Object["metadata"] = metadata
	}
	return out
}

// metaObject returns the object from the argument of an informer's handler.
func metaObject(obj any) (metav1.Object, bool) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	o, ok := obj.(metav1.Object)
	return o, ok
}
