// Package decide chooses the action for one object. It is pure: a function of the
// observed state, without clients, clocks or I/O.
//
// The tree, in order (specification 003, "Reconcile Decision Tree"):
//
//	not found                             nothing
//	deletionTimestamp set                 store the final state, close the row, release the object
//	annotation michelangelo/Deleting      the same, then delete the object
//	annotation michelangelo/Immutable     store one last time as evicted, release, delete the object
//	otherwise                             store; give the object our finalizer if it lacks it
//
// One branch is ours: foreign finalizers may hold an object that is terminating without
// our finalizer. Only its row shows whether it was evicted or deleted, since marks may
// change until the deletion: an evicted row stays evicted, any other row is closed.
package decide

// Observed is the observed state of an object.
type Observed struct {
	Found bool
	// Terminating: metadata.deletionTimestamp is set.
	Terminating bool
	// Finalizer: the object has our finalizer.
	Finalizer bool
	// DeletingMark and ImmutableMark: the annotation has the value "true".
	DeletingMark, ImmutableMark bool
	// ImmutableKind: the kind is immutable, and eviction of immutable kinds is enabled.
	ImmutableKind bool
}

// Action is the action for an object.
type Action string

// Actions.
const (
	// Nothing: the object is not found. Its row was closed or evicted before it was deleted.
	Nothing Action = "nothing"
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
	case !s.Found:
		return Nothing
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
