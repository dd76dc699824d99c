package ownedstatus

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/managedfields"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
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

const subresource = "status"

const scope = "github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"

// attrManager is the field manager of a write, which tells conditions from an operator's own fields.
const attrManager = attribute.Key("flotilla.field_manager")

// Writer applies owned status fields under one field manager. It is safe for concurrent use.
type Writer struct {
	client  client.Client
	manager string
	former  []string
}

// New returns a Writer. former names managers of earlier releases, which no longer
// write, and whose status fields it takes over; its own name is always among them,
// for the case that an earlier release wrote with Update. Taking over needs the
// permission to patch the object itself, once for each object.
func New(c client.Client, fieldManager string, former ...string) *Writer {
	return &Writer{client: c, manager: fieldManager, former: former}
}

// Apply makes the status have exactly the owned fields and values for this manager.
//
// current is the object as read from the cache, never changed in between; owned is
// a struct or map that marshals to the whole set of status fields that this manager
// owns. A field that it owned before and that is absent now is removed; null and
// empty lists and maps count as absent. The API server refuses to let the last
// owned field of a whole status go (it would become null), so own at least one. On success current carries the new status,
// resourceVersion and managed fields, so that a second write in the same reconcile
// does not conflict with the first; its spec is left alone.
func (w *Writer) Apply(ctx context.Context, current client.Object, owned any) (changed bool, err error) {
	gvk, err := w.client.GroupVersionKindFor(current)
	if err != nil {
		return false, fmt.Errorf("find the kind of %q: %w", current.GetName(), err)
	}
	fail := func(err error) (bool, error) {
		return false, fmt.Errorf("apply status of %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(current), err)
	}
	if current.GetResourceVersion() == "" {
		return fail(errors.New("the object was not read from the API server"))
	}
	wanted, err := toJSON(owned)
	if err != nil {
		return fail(err)
	}
	taken, err := w.takeOver(ctx, current, gvk)
	if err != nil {
		return fail(err)
	}
	same, err := w.upToDate(current, wanted)
	if err != nil {
		return fail(err)
	}
	if same {
		return taken, nil
	}
	if err := w.send(ctx, current, gvk, wanted); err != nil {
		return fail(err)
	}
	return true, nil
}

// ApplyConditions is [Writer.Apply] for a manager that owns conditions and nothing else.
func (w *Writer) ApplyConditions(ctx context.Context, current client.Object, conditions []metav1.Condition) (changed bool, err error) {
	return w.Apply(ctx, current, map[string]any{"conditions": conditions})
}

// upToDate says whether the cached object already has what would be applied.
func (w *Writer) upToDate(current client.Object, wanted map[string]any) (bool, error) {
	set, err := managedfields.Applied(current, w.manager, subresource)
	if err != nil {
		return false, err
	}
	if set == nil {
		return len(wanted) == 0, nil
	}
	live, err := statusOf(current)
	if err != nil {
		return false, err
	}
	set, ok := set.Children.Get(fieldpath.FieldNameElement(subresource))
	if !ok {
		set = &fieldpath.Set{}
	}
	return managedfields.UpToDate(set, wanted, live) && len(managedfields.Surplus(set, wanted)) == 0, nil
}

func (w *Writer) takeOver(ctx context.Context, current client.Object, gvk schema.GroupVersionKind) (bool, error) {
	patch, err := managedfields.TakeOver(current, w.manager, subresource, w.former)
	if err != nil || patch == nil {
		return false, err
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(gvk)
	target.SetNamespace(current.GetNamespace())
	target.SetName(current.GetName())
	err = w.client.Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(w.manager))
	if err != nil {
		return false, classify(err)
	}
	current.SetResourceVersion(target.GetResourceVersion())
	current.SetManagedFields(target.GetManagedFields())
	return true, nil
}

// send applies under the resourceVersion of current. The apply configuration is
// made afresh: the response overwrites it with what other managers own.
func (w *Writer) send(ctx context.Context, current client.Object, gvk schema.GroupVersionKind, wanted map[string]any) (err error) {
	ctx, span := telemetry.Child(ctx, scope, "apply status")
	if span.IsRecording() {
		span.SetAttributes(attrManager.String(w.manager), telemetry.AttrKind.String(gvk.Kind))
	}
	defer func() { telemetry.End(span, "apply", err) }()
	u := &unstructured.Unstructured{Object: map[string]any{subresource: wanted}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(current.GetNamespace())
	u.SetName(current.GetName())
	u.SetResourceVersion(current.GetResourceVersion())
	err = w.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(w.manager))
	if err != nil {
		return classify(err)
	}
	return adopt(current, u)
}

// classify tells the two kinds of conflict apart, which share a status code.
func classify(err error) error {
	switch {
	case !apierrors.IsConflict(err):
		return err
	case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return fmt.Errorf("%w: %w", ErrOwnership, err)
	}
	return fmt.Errorf("%w: %w", ErrStale, err)
}
