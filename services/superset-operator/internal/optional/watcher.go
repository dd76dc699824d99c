package optional

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Limits of the backoff while a CRD exists and its kind is not served: this usually takes well under a second, but
// lasts if the CRD lacks the version that the operator uses.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 30 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Start watches the CRD until ctx ends. The controller calls it.
func (k *Kind) Start(ctx context.Context, q queue) error {
	f := &watcher{Kind: k, queue: q}
	if err := f.watch(ctx); err != nil {
		return err
	}
	go f.run(ctx)
	return nil
}

// WaitForSync waits until the state of the kind is determined, or the attempt has failed. A failure is not an error:
// no other source of the controller depends on the kind.
func (k *Kind) WaitForSync(ctx context.Context) error {
	select {
	case <-k.ready:
	case <-ctx.Done():
	}
	return nil
}

// String names the source in logs.
func (k *Kind) String() string { return "optional kind " + k.crd.Name() }

// watcher is a running Kind. One goroutine makes all decisions, in check.
type watcher struct {
	*Kind
	queue    queue
	informer toolscache.SharedIndexInformer
	// failed reports whether a watch of the CRD has failed.
	failed atomic.Bool
	// objects is nil while the kind is not served.
	objects *objects
}

// watch watches only the metadata of the CRD; its content is not needed.
func (f *watcher) watch(ctx context.Context) error {
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	f.informer = metadatainformer.NewFilteredMetadataInformer(f.crds, resource, metav1.NamespaceAll, 0, nil,
		func(o *metav1.ListOptions) {
			// With this selector a role can be limited to the one CRD, also for list and watch.
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, f.crd.Name()).String()
		}).Informer()
	if err := f.informer.SetTransform(trim); err != nil {
		return fmt.Errorf("watch %s: %w", f, err)
	}
	if err := f.informer.SetWatchErrorHandlerWithContext(f.watchFailed); err != nil {
		return fmt.Errorf("watch %s: %w", f, err)
	}
	if _, err := f.informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f.notify() },
		UpdateFunc: func(_, _ any) { f.notify() },
		DeleteFunc: func(any) { f.notify() },
	}); err != nil {
		return fmt.Errorf("watch %s: %w", f, err)
	}
	go f.informer.RunWithContext(ctx)
	go func() {
		select {
		case <-ctx.Done():
		case <-f.informer.HasSyncedChecker().Done():
			f.notify()
		}
	}()
	return nil
}

// trim keeps only the fields that are read. The annotations of a CRD can be larger than the rest of the cache.
func trim(obj any) (any, error) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.Annotations, m.Labels, m.ManagedFields, m.OwnerReferences = nil, nil, nil, nil
	}
	return obj, nil
}

func (f *watcher) watchFailed(ctx context.Context, r *toolscache.Reflector, err error) {
	if f.informer.HasSynced() {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		return
	}
	if !f.failed.Swap(true) {
		f.log.Info("Failed to watch CRD, falling back to polling", "reason", err.Error())
	}
	f.notify()
}

func (f *watcher) run(ctx context.Context) {
	defer f.close()
	delay := minBackoff
	for {
		var retry <-chan time.Time
		if f.check(ctx) {
			retry = f.options.Clock.After(delay)
			delay = min(2*delay, maxBackoff)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
			delay = minBackoff
		case <-retry:
		}
	}
}

// check checks whether the kind is served and starts or stops its cache. It reports
// whether to check again without a watch event.
func (f *watcher) check(ctx context.Context) bool {
	synced := f.informer.HasSynced()
	if !synced && !f.failed.Load() {
		return false // not listed yet
	}
	exists := synced && f.exists()
	served := false
	if exists || !synced {
		var err error
		if served, err = f.isServed(ctx); err != nil {
			f.log.V(1).Info("Failed to discover the kind", "reason", err.Error())
			if state, _ := f.State(); state == Unknown && f.fail(err) {
				f.enqueueOwners(ctx)
			}
			return true
		}
	}
	if !served {
		f.setState(ctx, Absent, nil)
		f.close()
		return exists
	}
	if f.objects == nil {
		objects, err := f.open(ctx)
		if err != nil {
			f.log.Error(err, "Failed to watch the kind")
			return true
		}
		f.objects = objects
	}
	if f.objects.synced() {
		f.setState(ctx, Served, f.objects.cache)
	}
	return false
}

// exists reports whether the CRD exists and is not terminating.
func (f *watcher) exists() bool {
	for _, obj := range f.informer.GetStore().List() {
		if m, ok := obj.(*metav1.PartialObjectMetadata); ok && m.DeletionTimestamp.IsZero() {
			return true
		}
	}
	return false
}

// isServed reports whether the API server serves the kind. It does not use the manager's
// mapper, whose cache keeps removed kinds.
func (f *watcher) isServed(ctx context.Context) (bool, error) {
	kind := f.crd.Kind
	list, err := f.discovery.ServerResourcesForGroupVersionWithContext(ctx, kind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("discover %s: %w", kind.GroupVersion(), err)
	}
	for i := range list.APIResources {
		if list.APIResources[i].Kind == kind.Kind {
			return true, nil
		}
	}
	return false, nil
}

// setState stores the state and, if it changed, enqueues every owner that uses the kind.
func (f *watcher) setState(ctx context.Context, state State, reader client.Reader) {
	if !f.set(state, reader) {
		return
	}
	f.log.Info("State of the optional kind changed", "state", state)
	f.enqueueOwners(ctx)
}

func (f *watcher) enqueueOwners(ctx context.Context) {
	for _, request := range f.options.Requests(ctx) {
		f.queue.Add(request)
	}
}
