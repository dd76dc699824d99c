package objectsync

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// cachedClient reads the objects of one kind from the informers, and writes them to the API server.
type cachedClient struct {
	*object.Client
	// informers by namespace; one for "" when all namespaces are watched.
	informers map[string]*informer
}

// informer holds the objects of one namespace, or of all namespaces.
type informer struct {
	cache.SharedIndexInformer
	initialList *initialListBuffer
	watchErrors *watchErrors
}

// connection holds the settings of the connection to the API server.
type connection struct {
	config *rest.Config
	http   *http.Client
	clock  clock.PassiveClock
	log    logr.Logger
}

func newCachedClient(kind *registry.Kind, to connection, namespaces []string) (*cachedClient, error) {
	resource := schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: kind.Plural}
	client, err := object.NewClient(to.config, to.http, to.clock, resource, api.DeletingAnnotation, api.ImmutableAnnotation)
	if err != nil {
		return nil, err
	}
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	out := &cachedClient{Client: client, informers: map[string]*informer{}}
	for _, ns := range namespaces {
		// No resync: the queue retries failures, and unchanged objects need no reconcile.
		buffer := newInitialListBuffer()
		source := object.ListWatch{Client: client, Namespace: ns, Arrived: buffer.add}
		shared := cache.NewSharedIndexInformer(source, &object.Object{}, 0, cache.Indexers{})
		failures := &watchErrors{log: to.log.WithValues("kind", kind.Name)}
		if err := shared.SetWatchErrorHandlerWithContext(failures.handle); err != nil {
			return nil, fmt.Errorf("watch %s: %w", kind.Plural, err)
		}
		out.informers[ns] = &informer{shared, buffer, failures}
	}
	return out, nil
}

// get returns the last observed state of the object, or nil.
func (c *cachedClient) get(key types.NamespacedName) (*object.Object, error) {
	informer := c.informers[key.Namespace]
	if informer == nil {
		informer = c.informers[""]
	}
	if informer == nil {
		return nil, nil // a namespace that is not watched
	}
	o, err := informer.cached(key)
	if o != nil || err != nil {
		return o, err
	}
	if o := informer.initialList.get(key); o != nil {
		return o, nil
	}
	// The buffer drops an object after the informer stored it: it may have moved since the first look.
	return informer.cached(key)
}

// cached returns the object that the informer has, or nil.
func (i *informer) cached(key types.NamespacedName) (*object.Object, error) {
	item, found, err := i.GetStore().GetByKey(key.String())
	if err != nil {
		return nil, fmt.Errorf("get %s from the cache: %w", key, err)
	}
	if !found {
		return nil, nil
	}
	o, ok := item.(*object.Object)
	if !ok {
		return nil, fmt.Errorf("get %s from the cache: got %T, want *object.Object", key, item)
	}
	return o, nil
}

// Start implements manager.Runnable: it watches the cluster until ctx ends.
func (c *cachedClient) Start(ctx context.Context) error {
	var running sync.WaitGroup
	for _, informer := range c.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
		running.Go(func() {
			if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
				informer.initialList.markSynced(informer.GetStore())
				informer.watchErrors.recovered()
			}
		})
	}
	running.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Standbys fill their caches
// too, so the next leader can begin at once.
func (*cachedClient) NeedLeaderElection() bool { return false }
