package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/listing"
)

// objects lists the objects of the kind, without content, by uid. Each namespace, or
// all of them together, is listed at one resource version.
func (c *comparison) objects(ctx context.Context) (map[string]object, error) {
	out := map[string]object{}
	_, err := listing.EachMetadata(ctx, c.env.Client, c.kind, c.namespaces, func(item *metav1.PartialObjectMetadata) error {
		o, err := newObject(item)
		out[o.uid] = o
		return err
	})
	return out, command.Explain(err)
}

// object gets one object without content; nil means that no object has this name and uid.
func (c *comparison) object(ctx context.Context, namespace, name, uid string) (*object, error) {
	var item metav1.PartialObjectMetadata
	item.SetGroupVersionKind(c.kind.GVK())
	err := c.env.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &item)
	if apierrors.IsNotFound(err) || (err == nil && string(item.GetUID()) != uid) {
		return nil, nil // no such object
	}
	if err != nil {
		return nil, command.Explain(fmt.Errorf("get %s %s/%s: %w", c.kind.Name, namespace, name, err))
	}
	o, err := newObject(&item)
	return &o, err
}

func newObject(item *metav1.PartialObjectMetadata) (object, error) {
	version, err := strconv.ParseInt(item.GetResourceVersion(), 10, 64)
	if err != nil {
		return object{}, fmt.Errorf("parse resource version of %s/%s: %w", item.GetNamespace(), item.GetName(), err)
	}
	annotations := item.GetAnnotations()
	o := object{
		uid: string(item.GetUID()), namespace: item.GetNamespace(), name: item.GetName(), version: version,
		finalizer: slices.Contains(item.GetFinalizers(), api.IngesterFinalizer),
		deleting:  api.IsSet(annotations, api.DeletingAnnotation),
		immutable: api.IsSet(annotations, api.ImmutableAnnotation),
	}
	if at := item.GetDeletionTimestamp(); at != nil {
		o.terminating = at.Time
	}
	return o, nil
}
