package readmodel

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 15 * time.Second
)

// crdKind is watched for its metadata only.
var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// objects holds every managed object in the form of the API, from the informers that
// the aggregator's watcher runs. A kind may be installed or removed with its CRD.
type objects struct {
	cache   cache.Cache
	cluster string
	clock   clock.WithTicker
	sources map[string]*source // by the name of the CRD

	mu     sync.RWMutex
	items  map[contract.Ref]item
	crds   func() bool // reports whether the CRDs have synced
	synced bool        // all kinds have synced once
}

// item is an object with its creation time, which the API does not serve.
type item struct {
	statusapi.Resource
	created time.Time
}

// source is the state of one kind.
type source struct {
	kind      registry.Kind
	exists    atomic.Bool
	triggered chan struct{}
	from      *attachment // guarded by objects.mu; nil while the kind is not watched
}

// attachment is one informer of a kind, until the informer stops.
type attachment struct {
	informer cache.Informer
	synced   func() bool
}

func newObjects(c cache.Cache, cluster string, kinds registry.Set, clk clock.WithTicker) *objects {
	o := &objects{
		cache: c, cluster: cluster, clock: clk,
		sources: map[string]*source{}, items: map[contract.Ref]item{},
	}
	for _, kind := range kinds.Kinds() {
		o.sources[kind.CRD()] = &source{kind: kind, triggered: make(chan struct{}, 1)}
	}
	return o
}

// start reads until ctx ends.
func (o *objects) start(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for _, s := range o.sources {
		running.Go(func() { o.follow(ctx, s) })
	}
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(crdKind)
	informer, err := o.cache.GetInformer(ctx, crd)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("watch CustomResourceDefinitions: %w", err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { o.recordCRD(obj, true) },
		UpdateFunc: func(_, obj any) { o.recordCRD(obj, true) },
		DeleteFunc: func(obj any) { o.recordCRD(obj, false) },
	})
	if err != nil {
		return fmt.Errorf("watch CustomResourceDefinitions: %w", err)
	}
	o.mu.Lock()
	o.crds = registration.HasSynced
	o.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (o *objects) recordCRD(obj any, exists bool) {
	m, ok := metaObject(obj)
	if !ok {
		return
	}
	if s := o.sources[m.GetName()]; s != nil {
		s.exists.Store(exists)
		s.trigger()
	}
}

func (s *source) trigger() {
	select {
	case s.triggered <- struct{}{}:
	default:
	}
}

// follow keeps a kind attached to its informer.
func (o *objects) follow(ctx context.Context, s *source) {
	delay := minBackoff
	for {
		var retry <-chan time.Time
		err := o.attach(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			logr.FromContextOrDiscard(ctx).V(1).Info("Failed to watch kind", "kind", s.kind.Token, "reason", err.Error())
			retry, delay = o.clock.After(delay), min(2*delay, maxBackoff)
		default:
			delay = minBackoff
		}
		select {
		case <-ctx.Done():
			return
		case <-s.triggered:
		case <-retry:
		}
	}
}

// attach attaches to the current informer of a kind, if it exists.
func (o *objects) attach(ctx context.Context, s *source) error {
	if !s.exists.Load() {
		o.replace(s, nil)
		return nil
	}
	if !o.stale(s) {
		return nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(s.kind.GVK)
	informer, err := o.cache.GetInformer(ctx, u, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.kind.Resource, err)
	}
	a := &attachment{informer: informer, synced: func() bool { return false }}
	o.replace(s, a)
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { o.store(s, a, obj) },
		UpdateFunc: func(_, obj any) { o.store(s, a, obj) },
		DeleteFunc: func(obj any) { o.remove(s, a, obj) },
	})
	if err != nil {
		o.replace(s, nil)
		return fmt.Errorf("watch %s: %w", s.kind.Resource, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	a.synced = registration.HasSynced
	return nil
}

// stale reports whether an existing kind has no running informer: none yet, or one that
// stopped with a previous CRD.
func (o *objects) stale(s *source) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return s.from == nil || s.from.informer.IsStopped()
}

// replace replaces the attachment and drops the objects of the former informer.
func (o *objects) replace(s *source, a *attachment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.from != nil {
		for ref := range o.items {
			if ref.Kind == s.kind.Token {
				delete(o.items, ref)
			}
		}
	}
	s.from = a
}

func (o *objects) store(s *source, a *attachment, obj any) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	ref, r := o.ref(s.kind, u), resource(o.cluster, s.kind, u)
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.from == a {
		o.items[ref] = item{r, u.GetCreationTimestamp().Time}
	}
}

func (o *objects) remove(s *source, a *attachment, obj any) {
	m, ok := metaObject(obj)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.from == a {
		delete(o.items, o.ref(s.kind, m))
	}
}

func (o *objects) ref(kind registry.Kind, m metav1.Object) contract.Ref {
	return contract.Ref{Cluster: o.cluster, Namespace: m.GetNamespace(), Kind: kind.Token, Name: m.GetName()}
}

// ready reports whether the informers of all kinds have synced. A stopped informer is
// replaced.
func (o *objects) ready() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	complete := o.crds != nil && o.crds()
	for _, s := range o.sources {
		if !s.exists.Load() {
			continue
		}
		if s.from == nil || s.from.informer.IsStopped() {
			s.trigger()
		}
		complete = complete && s.from != nil && s.from.synced()
	}
	// A kind that is installed later fills up while the others are already served.
	o.synced = o.synced || complete
	return o.synced
}

// metaObject returns the object from the argument of an informer's handler.
func metaObject(obj any) (metav1.Object, bool) {
	if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	m, ok := obj.(metav1.Object)
	return m, ok
}
