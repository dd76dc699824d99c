package storage

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Errors that callers branch on, with errors.Is.
var (
	// ErrNotFound means that there is no live row, or, for [IngesterStorage.Release], no row at all.
	ErrNotFound = errors.New("not found in storage")
	// ErrConflict means that a direct update was based on another version than storage holds.
	ErrConflict = errors.New("storage holds another version")
	// ErrStale means that storage holds a newer version than the given one.
	ErrStale = errors.New("storage holds a newer version")
	// ErrUnconfirmed means that the row of the object is closed, and the object may be that of a
	// stale cache. If the API server still has it, [IngesterStorage.Reopen] opens the row.
	ErrUnconfirmed = errors.New("storage has closed the row of the object")
	// ErrRejected means that the object's content cannot be stored until it changes.
	// The error names the field.
	ErrRejected = errors.New("object cannot be stored")
	// ErrInvalid means that a request is invalid: an unknown kind, field,
	// operator or template, a selector that does not parse, a continue token of another request.
	// The error names the invalid part.
	ErrInvalid = errors.New("invalid request to storage")
	// ErrTooSlow means that the database stopped a statement of a query, which took longer than its limit.
	ErrTooSlow = errors.New("query takes too long for the database")
	// ErrNotWritten means that the database failed to write, for a reason other than the
	// object. It is logged once for all objects of the same write.
	ErrNotWritten = errors.New("not written")
	// ErrNotReady means that the database has not been reached yet.
	ErrNotReady = errors.New("storage is not ready")
)

// MetadataStorage stores and lists objects. Each method except DeleteCollection and Backfill is
// atomic.
//
// Objects are runtime.Objects of a registered kind with their TypeMeta set.
//
// Source: reference section 3.
type MetadataStorage interface {
	// Upsert stores an object.
	//
	// With direct false it is an object of the cluster: nothing is written when storage
	// has that version already. A row that is closed for this incarnation of the cluster stays
	// closed. Errors: ErrStale, ErrUnconfirmed, ErrRejected, ErrInvalid, ErrNotReady.
	//
	// With direct true it is an object that exists in storage only (an evicted one): its
	// labels and annotations are stored, provided that its resourceVersion is the stored
	// one, and the object gets a new resourceVersion. All other fields are ignored. If
	// labels and annotations are unchanged, the row and the version stay. Errors:
	// ErrNotFound, ErrConflict (also for an object that is in the cluster), ErrRejected, ErrInvalid.
	//
	// indexedFields may be nil: the columns are computed from the kind's description. Given
	// fields must name columns of the kind; they override the computed ones. Their values have
	// the column's type, or are pointers to it; nil is NULL.
	Upsert(ctx context.Context, object runtime.Object, direct bool, indexedFields []IndexedField) error
	// GetByName fills object, whose kind must be set, from the live row of that name. Errors: ErrNotFound, ErrInvalid.
	GetByName(ctx context.Context, namespace, name string, object runtime.Object) error
	// GetByID fills object, whose kind must be set, from the live row of that uid. Errors: ErrNotFound, ErrInvalid.
	GetByID(ctx context.Context, uid string, object runtime.Object) error
	// List returns live objects of a kind; namespace "" means all of them. Label and
	// field selectors, limit and continue token of listOptions apply, and all of ext.
	// Without an order the newest object comes first. An error leaves response unchanged.
	// Errors: ErrInvalid.
	List(ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, listOptions *metav1.ListOptions, ext *ListOptionsExt, response *ListResponse) error
	// Delete closes the live row of that name with its stored content. It returns nil for a closed or missing
	// row. Errors: ErrInvalid.
	Delete(ctx context.Context, typeMeta *metav1.TypeMeta, namespace, name string) error
	// DeleteCollection closes the live rows that the selectors and the limit choose, the newest
	// first; namespace "" means all of them. It works in pages, each atomic: a row that leaves
	// the selector before its page is closed stays. A dry run closes nothing. Preconditions are
	// checked for each row of a page before any of it is closed. Errors: ErrInvalid, ErrConflict.
	DeleteCollection(ctx context.Context, typeMeta *metav1.TypeMeta, namespace string, deleteOptions *metav1.DeleteOptions, listOptions *metav1.ListOptions) error
	// QueryByTemplateID runs a predefined query. Its parameters are criteria of ext that
	// name the parameter, with OpEqual; pagination and skip list apply, and there is no
	// continue token. Errors: ErrInvalid, which lists the templates.
	QueryByTemplateID(ctx context.Context, typeMeta *metav1.TypeMeta, templateID string, ext *ListOptionsExt, response *ListResponse) error
	// Backfill rewrites rows of a kind in the order of their creation. prepare returns the new
	// content of each row; without prepare each object is rewritten unchanged. Backfill returns the
	// creation time at which to continue, also together with an error, or nil at the end. Rows
	// that are up to date cost no write, and there are no change events. Objects
	// that cannot be stored are skipped, and named in ErrRejected at the end. Errors: ErrInvalid,
	// ErrRejected, that of prepare.
	Backfill(ctx context.Context, prepare PrepareBackfillParams, options BackfillOptions) (endTime *time.Time, err error)
	// Close writes the waiting records and closes the connections. It may be called again.
	Close() error
}

// IngesterStorage extends MetadataStorage by the methods of the ingester itself: deletion and eviction,
// with the final state of the object.
type IngesterStorage interface {
	MetadataStorage
	// Finish stores the object's final state and closes its row, found by uid. A row that
	// is closed already stays unchanged, without an error. Errors: ErrStale, ErrRejected, ErrNotReady.
	Finish(ctx context.Context, object runtime.Object) error
	// Evict stores an object that is not Terminating and marks its row: the object is then removed from
	// the cluster, the row stays live, and the sweep does not treat it as an orphan. The
	// row of an evicted object takes newer states of it. A row that is closed for this
	// incarnation of the cluster stays closed. Errors: ErrStale, ErrUnconfirmed, ErrRejected, ErrNotReady.
	Evict(ctx context.Context, object runtime.Object) error
	// Release stores a later state of an object that is Terminating without our finalizer. An
	// evicted row stays evicted, any other row is closed. Without a row nothing is stored: it was closed and then
	// deleted, or an older database lacks it. Errors: ErrNotFound without a row, ErrStale, ErrRejected, ErrNotReady.
	Release(ctx context.Context, object runtime.Object) error
	// Reopen stores an object that is not Terminating, as the API server has just returned it, and
	// opens its row if that is closed. Errors: ErrStale, ErrRejected, ErrNotReady.
	Reopen(ctx context.Context, object runtime.Object) error
	// Abandon closes an object's row, found by uid, with its stored content: for an object whose
	// final state is rejected. The row of an evicted object that is Terminating without our
	// finalizer stays unchanged. It returns nil for a closed or missing row.
	// Errors: ErrStale when the row changes meanwhile, ErrNotReady.
	Abandon(ctx context.Context, object runtime.Object) error
}
