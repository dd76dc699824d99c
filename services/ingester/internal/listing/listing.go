// Package listing lists the objects of a kind from the API server in pages.
package listing

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

const (
	// metadataPageSize is the page size of lists without content.
	metadataPageSize = 1000
	// maxAttempts bounds the attempts of a list whose version expires.
	maxAttempts = 3
)

// NewList returns an empty list of the metadata of a kind.
func NewList(kind *registry.Kind) *metav1.PartialObjectMetadataList {
	gvk := kind.GVK()
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return &list
}

// NotServed reports whether the error of a list means that the cluster does not serve the kind.
func NotServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// NoObject reports whether the error of a get means that the cluster serves the kind and has no such object.
func NoObject(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// EachMetadata calls f with the metadata of every object of a kind; see [Pages].
func EachMetadata(ctx context.Context, reader client.Reader, kind *registry.Kind, namespaces []string, f func(*metav1.PartialObjectMetadata) error) (version int64, err error) {
	newList := func() *metav1.PartialObjectMetadataList { return NewList(kind) }
	return Pages(ctx, Lists{reader, kind, namespaces}, newList, metadataPageSize, func(page *metav1.PartialObjectMetadataList) error {
		for i := range page.Items {
			if err := f(&page.Items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Lists are lists of a kind in namespaces.
type Lists struct {
	Reader     client.Reader
	Kind       *registry.Kind
	Namespaces []string
}

// Pages calls f with every page of the lists of the namespaces, none of which means all of them together. Each list has one
// version, of which Pages returns the lowest. If the version expires between two pages, the list of the namespace starts
// again: f may get an object twice.
func Pages[L client.ObjectList](ctx context.Context, l Lists, newList func() L, size int64, f func(L) error) (lowest int64, err error) {
	namespaces := l.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for i, namespace := range namespaces {
		var version int64
		for attempt := 1; ; attempt++ {
			version, err = pages(ctx, l, newList, namespace, size, f)
			if err == nil {
				break
			}
			if !apierrors.IsResourceExpired(err) || attempt == maxAttempts {
				return 0, err
			}
		}
		if i == 0 || version < lowest {
			lowest = version
		}
	}
	return lowest, nil
}

func pages[L client.ObjectList](ctx context.Context, l Lists, newList func() L, namespace string, size int64, f func(L) error) (version int64, err error) {
	next := ""
	for {
		page := newList()
		if err := l.Reader.List(ctx, page, client.InNamespace(namespace), client.Limit(size), client.Continue(next)); err != nil {
			return 0, fmt.Errorf("list %s: %w", l.Kind.Plural, err)
		}
		if err := f(page); err != nil {
			return 0, err
		}
		if next = page.GetContinue(); next != "" {
			continue
		}
		if version, err = strconv.ParseInt(page.GetResourceVersion(), 10, 64); err != nil {
			return 0, fmt.Errorf("parse resource version %q of a list: %w", page.GetResourceVersion(), err)
		}
		return version, nil
	}
}
