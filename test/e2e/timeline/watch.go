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

// Watch records the changes of an object until ctx ends. It restarts a watch that ended and first reads the current state,
// so it misses only short states while the API server is unavailable.
func (r *Recorder) Watch(ctx context.Context, c client.WithWatch, o Object) {
	for ctx.Err() == nil {
		r.watch(ctx, c, o)
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

func (r *Recorder) watch(ctx context.Context, c client.WithWatch, o Object) {
	one := &unstructured.Unstructured{}
	one.SetGroupVersionKind(o.GVK)
	switch err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, one); {
	case apierrors.IsNotFound(err):
		r.RecordDeleted(o)
	case err != nil:
		return
	default:
		r.Record(o, one)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(o.GVK.GroupVersion().WithKind(o.GVK.Kind + "List"))
	w, err := c.Watch(ctx, list, client.InNamespace(o.Namespace), client.MatchingFields{"metadata.name": o.Name})
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		resource, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case !ok || event.Type == watch.Error:
			return
		case event.Type == watch.Deleted:
			r.RecordDeleted(o)
		default:
			r.Record(o, resource)
		}
	}
}
