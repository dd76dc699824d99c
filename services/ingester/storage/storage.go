package storage

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
)

// Errors that callers branch on, with errors.Is.
var (
	// ErrNotFound says that there is no live row.
	ErrNotFound = errors.New("not found in storage")
	// ErrStale says that storage holds a newer version than the one that was offered.
	ErrStale = errors.New("storage holds a newer version")
	// ErrRejected says that the object's content cannot be stored; only a change of it helps.
	// The error names the field.
	ErrRejected = errors.New("object cannot be stored")
	// ErrNotReady says that the database has not been reached yet.
	ErrNotReady = errors.New("storage is not ready")
)

// MetadataStorage stores objects. Each method is atomic.
type MetadataStorage interface {
	// Upsert stores an object of the cluster. Nothing is written when storage has that
	// version already. Errors: ErrStale, ErrRejected, ErrNotReady.
	Upsert(ctx context.Context, object runtime.Object, options ...UpsertOption) error
	// GetByName fills object, whose kind must be set, from the live row of that name. Errors: ErrNotFound.
	GetByName(ctx context.Context, namespace, name string, object runtime.Object) error
	// GetByID fills object, whose kind must be set, from the live row of that uid. Errors: ErrNotFound.
	GetByID(ctx context.Context, uid string, object runtime.Object) error
	// Delete stores the object's final state and closes its row, found by uid. A row
	// that is closed already is left as it is, without an error. Errors: ErrStale, ErrRejected, ErrNotReady.
	Delete(ctx context.Context, object runtime.Object) error
	// Close writes what waits and closes the connections.
	Close() error
}

// UpsertOption changes what Upsert does.
type UpsertOption func(*UpsertOptions)

// UpsertOptions are the options of Upsert, for implementations.
type UpsertOptions struct {
	// Evicted marks the row as one whose object leaves the cluster on purpose.
	Evicted bool
}

// Evicted marks the row as one whose object leaves the cluster on purpose: it stays
// live, and no cleaner may take it for an orphan.
func Evicted() UpsertOption { return func(o *UpsertOptions) { o.Evicted = true } }
