package benchlab

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Await returns when each object has been seen where it should be. The objects are of one kind and one namespace.
func (l *Lab) Await(ctx context.Context, objects []client.Object, arrived func(client.Object) bool) error {
	pending := map[string]bool{}
	for _, obj := range objects {
		pending[obj.GetName()] = true
	}
	kind, err := apiutil.GVKForObject(objects[0], l.Client.Scheme())
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	// The API server ends a watch after some minutes; the next one begins with all objects as they are.
	for len(pending) > 0 {
		if err := l.strike(ctx, list, objects[0].GetNamespace(), pending, arrived); err != nil {
			return fmt.Errorf("%d of %d %ss to come: %w", len(pending), len(objects), kind.Kind, err)
		}
	}
	return nil
}

// strike takes those off the pending names that one watch shows to have arrived.
func (l *Lab) strike(ctx context.Context, list client.ObjectList, namespace string, pending map[string]bool, arrived func(client.Object) bool) error {
	watch, err := l.Client.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer watch.Stop()
	for len(pending) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-watch.ResultChan():
			if !open {
				return nil
			}
			if obj, ok := event.Object.(client.Object); ok && arrived(obj) {
				delete(pending, obj.GetName())
			}
		}
	}
	return nil
}
