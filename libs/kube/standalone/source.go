package standalone

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Source enqueues every object of list's kind, from the manager's cache, each
// time the result of [LeaseWatcher.ShouldWrite] changes. list is a template: an empty list
// of the kind, for example &v1alpha1.SupersetList{}.
func (w *LeaseWatcher) Source(list client.ObjectList) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		changes := w.subscribe()
		go w.enqueueOn(ctx, changes, list, queue)
		return nil
	})
}

func (w *LeaseWatcher) enqueueOn(ctx context.Context, changes <-chan struct{}, list client.ObjectList, queue workqueue.TypedInterface[reconcile.Request]) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
		for {
			err := w.enqueueAll(ctx, list, queue)
			if err == nil || ctx.Err() != nil {
				break
			}
			w.log.Error(err, "Failed to enqueue objects, retrying")
			select {
			case <-ctx.Done():
			case <-w.clock.After(retryAfter):
			}
		}
	}
}

func (w *LeaseWatcher) enqueueAll(ctx context.Context, template client.ObjectList, queue workqueue.TypedInterface[reconcile.Request]) error {
	list, ok := template.DeepCopyObject().(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is not a list", template)
	}
	if err := w.objects.List(ctx, list); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("read %T: %w", list, err)
	}
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
		}
	}
	return nil
}
