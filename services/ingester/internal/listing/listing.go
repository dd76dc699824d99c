// Package listing lists the metadata of the objects of a kind from the API server.
package listing

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
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
