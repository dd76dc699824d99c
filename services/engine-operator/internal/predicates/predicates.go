// Package predicates filters the watch events of engines, classes and instances.
package predicates

import (
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// MetadataDiffers reports whether an update changes the spec or metadata that a decision depends on, or is a resync. A finalizer
// may be replaced without a change of their number.
func MetadataDiffers(old, now client.Object) bool {
	return old.GetResourceVersion() == now.GetResourceVersion() || // a resync
		old.GetGeneration() != now.GetGeneration() ||
		old.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() ||
		!maps.Equal(old.GetAnnotations(), now.GetAnnotations()) ||
		!slices.Equal(old.GetFinalizers(), now.GetFinalizers())
}
