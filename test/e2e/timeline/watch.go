package timeline

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retryInterval is the pause between two watches.
const retryInterval = time.Second

// Watch records the changes of an object until ctx ends.
func (r *Recorder) Watch(ctx context.Context, c client.WithWatch, o Object) {
	Follow(ctx, c, o, func(resource *unstructured.Unstructured, deleted, _ bool) {
		if deleted {
			r.RecordDeleted(o)
		} else {
			r.Record(o, resource)
		}
	})
}

// Follow calls record for each state of an object, or of all objects of its kind in its namespace if it has no name, until
// ctx ends. It restarts a watch that ended, which begins with the current states: incomplete means that earlier states of
// the object may have been missed. Only an object with a name is known to be deleted if that happened between two watches;
// record then gets its name alone.
func Follow(
	ctx context.Context, c client.WithWatch, o Object, record func(resource *unstructured.Unstructured, deleted, incomplete bool),
) {
	for first := true; ctx.Err() == nil; first = false {
		seen := map[string]bool{}
		watchOnce(ctx, c, o, func(resource *unstructured.Unstructured, deleted bool) {
			uid := string(resource.GetUID())
			record(resource, deleted, !first && !seen[uid])
			seen[uid] = true
		})
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

func watchOnce(ctx context.Context, c client.WithWatch, o Object, record func(resource *unstructured.Unstructured, deleted bool)) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(o.GVK.GroupVersion().WithKind(o.GVK.Kind + "List"))
	options := []client.ListOption{client.InNamespace(o.Namespace)}
	if o.Name != "" {
		options = append(options, client.MatchingFields{"metadata.name": o.Name})
		one := &unstructured.Unstructured{}
		one.SetGroupVersionKind(o.GVK)
		switch err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, one); {
		case apierrors.IsNotFound(err):
			one.SetName(o.Name)
			record(one, true)
		case err != nil:
			return
		}
	}
	w, err := c.Watch(ctx, list, options...)
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		resource, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return
		}
		record(resource, event.Type == watch.Deleted)
	}
}
