package optional

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// objects is the cache of a kind's objects while the kind is served.
type objects struct {
	cache        cache.Cache
	stop         context.CancelFunc
	synchronized chan struct{}
	stopped      chan struct{}
}

func (o *objects) synced() bool {
	select {
	case <-o.synchronized:
		return true
	default:
		return false
	}
}

// open starts the watch of the objects of the kind.
func (f *watcher) open(ctx context.Context) (*objects, error) {
	ctx, stop := context.WithCancel(ctx)
	c, err := f.newCache(ctx)
	if err != nil {
		stop()
		return nil, err
	}
	o := &objects{cache: c, stop: stop, synchronized: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(o.stopped)
		if err := c.Start(ctx); err != nil && ctx.Err() == nil {
			f.log.Error(err, "Watch of the kind ended")
		}
	}()
	events := source.Kind(c, client.Object(f.object()), f.options.Handler, f.options.Predicates...)
	if err := events.Start(ctx, f.queue); err != nil {
		stop()
		<-o.stopped
		return nil, fmt.Errorf("watch %s: %w", f, err)
	}
	go func() {
		if err := events.WaitForSync(ctx); err != nil {
			f.log.Error(err, "Failed to list the objects of the kind")
		} else if ctx.Err() == nil {
			close(o.synchronized)
			f.notify()
		}
	}()
	return o, nil
}

func (f *watcher) newCache(ctx context.Context) (cache.Cache, error) {
	options := cache.Options{
		HTTPClient: f.manager.GetHTTPClient(), Scheme: f.manager.GetScheme(), Mapper: f.manager.GetRESTMapper(),
		DefaultLabelSelector: f.options.Selector, DefaultWatchErrorHandler: f.objectsFailed,
	}
	for _, ns := range f.options.Namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[ns] = cache.Config{}
	}
	c, err := cache.New(f.manager.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("create a cache for %s: %w", f, err)
	}
	for field, extract := range f.options.Indexes {
		if err := c.IndexField(ctx, f.object(), field, extract); err != nil {
			return nil, fmt.Errorf("index %s: %w", f, err)
		}
	}
	return c, nil
}

// objectsFailed handles a failed watch as a hint that the kind is no longer served. A
// role that does not cover the kind must not keep the controller from starting.
func (f *watcher) objectsFailed(ctx context.Context, r *toolscache.Reflector, err error) {
	if !IsNotServed(err) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		if f.fail(fmt.Errorf("watch %s: %w", f.crd.Resource, err)) {
			f.enqueueOwners(ctx)
		}
	}
	f.notify()
}

func (f *watcher) object() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(f.crd.Kind)
	return u
}

// close stops the watch of the objects, if there is one.
func (f *watcher) close() {
	if f.objects == nil {
		return
	}
	f.objects.stop()
	<-f.objects.stopped
	f.objects = nil
}
