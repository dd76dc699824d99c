package ownedstatus

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/managedfields"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

// ErrStale means that the object changed since it was read. Requeue: the cache will
// show the change, and the controller decides again.
var ErrStale = errors.New("object changed since it was read")

const subresource = "status"

const scope = "github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"

// attrManager is the field manager of a write, which separates conditions from an operator's own fields.
const attrManager = attribute.Key("flotilla.field_manager")

// Writer applies owned status fields under one field manager. It is safe for concurrent use.
type Writer struct {
	client   client.Client
	manager  string
	types    sets.Set[string] // condition types that it owns also while it does not apply them
	reserved sets.Set[string] // condition types of another Writer
}

// Option changes what a [Writer] owns.
type Option func(*Writer)

// WithConditions names the condition types that the Writer applies at one time or another.
func WithConditions(types ...string) Option {
	return func(w *Writer) { w.types.Insert(types...) }
}

// WithoutConditions names the condition types that another Writer owns. The Writer
// never changes them, whichever manager wrote them.
func WithoutConditions(types ...string) Option {
	return func(w *Writer) { w.reserved.Insert(types...) }
}

// New returns a Writer. It needs the permission to patch the status, and to patch the
// object itself if it owns more than conditions: metadata.managedFields is not part of
// the status subresource.
func New(c client.Client, fieldManager string, opts ...Option) *Writer {
	w := &Writer{client: c, manager: fieldManager, types: sets.New[string](), reserved: sets.New[string]()}
	for _, opt := range opts {
		opt(w)
	}
	return w
}

// Apply makes the status have exactly the owned fields and values for this manager.
//
// current is the object as read from the cache, never changed in between; owned is
// a struct or map that marshals to the whole set of status fields that this manager
// owns. A field that it owned before and that is absent now is removed; null and
// empty lists and maps count as absent. Fields that another manager wrote although
// they are the Writer's are taken back first. The API server rejects the removal of the
// last owned field of a whole status (it would become null), so own at least one. On
// success current carries the new status, resourceVersion and managed fields, so that a
// second write in the same reconcile does not conflict with the first; its spec stays
// unchanged.
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
	desired, err := toJSON(owned)
	if err != nil {
		return fail(err)
	}
	before := current.GetResourceVersion()
	if err := w.reclaim(ctx, current, gvk, desired); err != nil {
		return fail(err)
	}
	upToDate, err := w.upToDate(current, desired)
	if err != nil {
		return fail(err)
	}
	if !upToDate {
		if err := w.send(ctx, current, gvk, desired); err != nil {
			return fail(err)
		}
	}
	// A write of what the status has already leaves the version: no event follows it.
	return current.GetResourceVersion() != before, nil
}

// ApplyConditions calls [Writer.Apply] for a manager that owns only conditions.
func (w *Writer) ApplyConditions(ctx context.Context, current client.Object, conditions []metav1.Condition) (changed bool, err error) {
	return w.Apply(ctx, current, map[string]any{"conditions": conditions})
}

// upToDate reports whether the cached object already has what would be applied.
func (w *Writer) upToDate(current client.Object, desired map[string]any) (bool, error) {
	set, err := managedfields.Applied(current, w.manager, subresource)
	if err != nil {
		return false, err
	}
	if set == nil {
		return len(desired) == 0, nil
	}
	live, err := statusOf(current)
	if err != nil {
		return false, err
	}
	set, ok := set.Children.Get(fieldpath.FieldNameElement(subresource))
	if !ok {
		set = &fieldpath.Set{}
	}
	return managedfields.UpToDate(set, desired, live) && len(managedfields.Surplus(set, desired)) == 0, nil
}

// reclaim transfers the Writer's fields that other managers own to its own manager. Without
// this the others stay co-owners, and a field that is no longer applied is never removed.
// A Writer of conditions applies the same types each time: force is enough for it.
func (w *Writer) reclaim(ctx context.Context, current client.Object, gvk schema.GroupVersionKind, desired map[string]any) error {
	if onlyConditions(desired) {
		return nil
	}
	patch, former, err := managedfields.Reclaim(current, w.manager, subresource, w.scopeOf(desired))
	if err != nil || patch == nil {
		return err
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(gvk)
	target.SetNamespace(current.GetNamespace())
	target.SetName(current.GetName())
	err = w.client.Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(w.manager))
	if err != nil {
		return classify(err)
	}
	logr.FromContextOrDiscard(ctx).Info("Reclaimed status fields",
		"kind", gvk.Kind, "name", current.GetName(), "manager", w.manager, "from", former)
	current.SetResourceVersion(target.GetResourceVersion())
	current.SetManagedFields(target.GetManagedFields())
	return nil
}

// send applies with the resourceVersion of current, with force: the fields are the
// Writer's, and the resourceVersion prevents a stale decision. The apply configuration is
// created for each call: the response overwrites it with the fields of other managers.
func (w *Writer) send(ctx context.Context, current client.Object, gvk schema.GroupVersionKind, desired map[string]any) (err error) {
	ctx, span := telemetry.Child(ctx, scope, "apply status")
	if span.IsRecording() {
		span.SetAttributes(attrManager.String(w.manager), telemetry.AttrKind.String(gvk.Kind))
	}
	defer func() { telemetry.End(span, "apply", err) }()
	u := &unstructured.Unstructured{Object: map[string]any{subresource: desired}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(current.GetNamespace())
	u.SetName(current.GetName())
	u.SetResourceVersion(current.GetResourceVersion())
	err = w.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(w.manager), client.ForceOwnership)
	if err != nil {
		return classify(err)
	}
	return adopt(current, u)
}

func classify(err error) error {
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return err
}
