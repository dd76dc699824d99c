// Package decide chooses the action for one object. It is pure: a function of the
// observed state, without clients, clocks or I/O.
//
// The tree, in order (specification 003, "Reconcile Decision Tree"):
//
//	deletionTimestamp set                 store the final state, close the row, release the object
//	annotation michelangelo/Deleting      the same, then delete the object
//	annotation michelangelo/Immutable     store one last time as evicted, release, delete the object
//	otherwise                             store; give the object our finalizer if it lacks it
//
// One branch is ours: foreign finalizers may hold an object that is terminating without
// our finalizer. Only its row shows whether it was evicted or deleted, since marks may
// change until the deletion: an evicted row stays evicted, any other row is closed.
package decide

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// Observed is the observed state of an object.
type Observed struct {
	// Terminating: metadata.deletionTimestamp is set.
	Terminating bool
	// Finalizer: the object has our finalizer.
	Finalizer bool
	// DeletingMark and ImmutableMark: the annotation has the value "true".
	DeletingMark, ImmutableMark bool
	// ImmutableKind: the kind is immutable, and eviction of immutable kinds is enabled.
	ImmutableKind bool
}

// Observe returns the state of an object. immutableKind is set if its kind is immutable, and the eviction of
// immutable kinds is enabled.
func Observe(o metav1.Object, immutableKind bool) Observed {
	annotations := o.GetAnnotations()
	return Observed{
		Terminating:   o.GetDeletionTimestamp() != nil,
		Finalizer:     slices.Contains(o.GetFinalizers(), api.IngesterFinalizer),
		DeletingMark:  api.IsSet(annotations, api.DeletingAnnotation),
		ImmutableMark: api.IsSet(annotations, api.ImmutableAnnotation),
		ImmutableKind: immutableKind,
	}
}

// HeldByOthers reports whether only foreign finalizers hold a terminating object.
func HeldByOthers(o metav1.Object) bool { return For(Observe(o, false)) == Release }

// Action is the action for an object.
type Action string

// Actions.
const (
	// Finish a deletion: close the row, then remove our finalizer.
	Finish Action = "finish"
	// Delete: close the row, remove our finalizer, delete the object.
	Delete Action = "delete"
	// Evict: store as evicted, remove our finalizer, delete the object.
	Evict Action = "evict"
	// Release: store the state of an object that only foreign finalizers hold.
	Release Action = "release"
	// Adopt: add our finalizer, then store.
	Adopt Action = "adopt"
	// Sync: store.
	Sync Action = "sync"
)

// For returns the action for the observed state.
func For(s Observed) Action {
	immutable := s.ImmutableMark || s.ImmutableKind
	switch {
	case s.Terminating && !s.Finalizer:
		return Release
	case s.Terminating:
		return Finish
	case s.DeletingMark:
		return Delete
	case immutable:
		return Evict
	case !s.Finalizer:
		return Adopt
	default:
		return Sync
	}
}
