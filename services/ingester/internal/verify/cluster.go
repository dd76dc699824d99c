package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/command"
)

// pageSize is the page size of lists without content.
const pageSize = 1000

// objects lists the objects of the kind, without content, by uid. Each namespace, or
// all of them together, is listed at one resource version.
func (c *comparison) objects(ctx context.Context) (map[string]object, error) {
	if len(c.namespaces) == 0 {
		return c.objectsIn(ctx, metav1.NamespaceAll)
	}
	all := map[string]object{}
	for _, namespace := range c.namespaces {
		some, err := c.objectsIn(ctx, namespace)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// maxListAttempts bounds the attempts of a list whose resource version expires.
const maxListAttempts = 3

func (c *comparison) objectsIn(ctx context.Context, namespace string) (map[string]object, error) {
	for attempt := 1; ; attempt++ {
		out := map[string]object{}
		err := c.pages(ctx, namespace, func(item *metav1.PartialObjectMetadata) error {
			o, err := newObject(item)
			if err == nil {
				out[o.uid] = o
			}
			return err
		})
		if apierrors.IsResourceExpired(err) && attempt < maxListAttempts {
			continue
		}
		return out, err
	}
}

func (c *comparison) pages(ctx context.Context, namespace string, f func(*metav1.PartialObjectMetadata) error) error {
	next := ""
	for {
		var page metav1.PartialObjectMetadataList
		page.SetGroupVersionKind(c.listKind())
		if err := c.env.Client.List(ctx, &page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return command.Explain(fmt.Errorf("list %s: %w", c.kind.Plural, err))
		}
		for i := range page.Items {
			if err := f(&page.Items[i]); err != nil {
				return err
			}
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
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
