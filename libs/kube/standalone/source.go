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
func (g *LeaseWatcher) Source(list client.ObjectList) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		flips := g.subscribe()
		go g.enqueueOn(ctx, flips, list, queue)
		return nil
	})
}

func (g *LeaseWatcher) enqueueOn(ctx context.Context, flips <-chan struct{}, list client.ObjectList, queue workqueue.TypedInterface[reconcile.Request]) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-flips:
		}
		for {
			err := g.enqueueAll(ctx, list, queue)
			if err == nil || ctx.Err() != nil {
				break
			}
			g.log.Error(err, "Did not enqueue the objects, trying again")
			select {
			case <-ctx.Done():
			case <-g.clock.After(retryAfter):
			}
		}
	}
}

func (g *LeaseWatcher) enqueueAll(ctx context.Context, template client.ObjectList, queue workqueue.TypedInterface[reconcile.Request]) error {
	list, ok := template.DeepCopyObject().(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is no list", template)
	}
	if err := g.objects.List(ctx, list); err != nil {
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
