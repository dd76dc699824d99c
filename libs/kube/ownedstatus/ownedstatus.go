package ownedstatus

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Errors that callers branch on with errors.Is.
var (
	// ErrStale says that the object changed since it was read. Requeue: the cache will
	// show the change, and the decision has to be made again.
	ErrStale = errors.New("object changed since it was read")
	// ErrOwnership says that another field manager owns one of the fields with another
	// value. Retrying does not help.
	ErrOwnership = errors.New("status field is owned by another manager")
)

// Writer applies owned status fields under one field manager. It is safe for concurrent use.
type Writer struct {
	client  client.Client
	manager string
	former  []string
}

// New returns a Writer. former names managers of earlier releases whose status
// fields it takes over; its own name is always among them, for the case that an
// earlier release wrote with Update.
func New(c client.Client, fieldManager string, former ...string) *Writer {
	return &Writer{client: c, manager: fieldManager, former: former}
}

// Apply makes the status have exactly the owned fields and values for this manager.
//
// current is the object as read from the cache; owned is a struct or map that
// marshals to the whole set of status fields that this manager owns. A field that
// it owned before and that is absent now is removed. On success current carries
// the new status, resourceVersion and managed fields, so that a second write in
// the same reconcile does not conflict with the first; its spec is left alone.
func (w *Writer) Apply(ctx context.Context, current client.Object, owned any) (changed bool, err error) {
	return false, errors.ErrUnsupported
}

// ApplyConditions is [Writer.Apply] for a manager that owns conditions and nothing else.
func (w *Writer) ApplyConditions(ctx context.Context, current client.Object, conditions []metav1.Condition) (changed bool, err error) {
	return w.Apply(ctx, current, map[string]any{"conditions": conditions})
}
