package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/managedfields"
)

// Outcome is the result of [Applier.Object].
type Outcome string

// Outcomes of an apply.
const (
	Created   Outcome = "Created"
	Updated   Outcome = "Updated"
	Unchanged Outcome = "Unchanged"
)

// Errors that callers branch on with errors.Is.
var (
	// ErrNotOwned means that the object exists and is not the owner's: another controller
	// owns it, or it has no controller and [WithAdoption] was not given.
	ErrNotOwned = errors.New("object exists and is not controlled by the owner")
	// ErrBeingDeleted means that the existing object is terminating; apply again after its deletion.
	ErrBeingDeleted = errors.New("object is being deleted")
	// ErrStale means that the cached object is stale; requeue and read it again.
	ErrStale = errors.New("cached object is stale")
)

// Applier writes objects under one field manager. It is safe for concurrent use.
type Applier struct {
	client  client.Client
	manager string
	options options
	cache   applyCache
}

// New returns an Applier that writes with c under the given field manager.
//
// c is usually the manager's client. When the cache shows no object but the API
// server has one, the Applier reads it as unstructured, which that client by
// default does from the API server.
func New(c client.Client, fieldManager string, opts ...Option) *Applier {
	return &Applier{client: c, manager: fieldManager, options: options{}.with(opts)}
}

// Object makes the cluster's object equal to desired in every field that desired sets.
//
// existing is the object as the caller's cache has it, or nil. owner becomes the
// controller. On success desired carries the uid, resourceVersion and generation
// of the object in the cluster, so that a caller knows which generation its
// children have to observe; all other fields of desired stay unchanged.
func (a *Applier) Object(ctx context.Context, owner, desired, existing client.Object, opts ...Option) (Outcome, error) {
	cfg, err := a.configure(owner, desired)
	if err != nil {
		return Unchanged, fmt.Errorf("prepare %T %q: %w", desired, desired.GetName(), err)
	}
	call := &call{Applier: a, options: a.options.with(opts), owner: owner, cfg: cfg}
	outcome, result, err := call.run(ctx, existing)
	if err != nil {
		return Unchanged, fmt.Errorf("apply %s %s: %w", cfg.kind(), client.ObjectKeyFromObject(desired), err)
	}
	desired.SetUID(result.GetUID())
	desired.SetResourceVersion(result.GetResourceVersion())
	desired.SetGeneration(result.GetGeneration())
	if outcome != Unchanged {
		logr.FromContextOrDiscard(ctx).Info("Applied object",
			"kind", cfg.kind(), "name", desired.GetName(), "outcome", outcome)
	}
	return outcome, nil
}

// call is one use of [Applier.Object].
type call struct {
	*Applier
	options options
	owner   client.Object
	cfg     config
}

func (c *call) run(ctx context.Context, existing client.Object) (Outcome, client.Object, error) {
	if isNil(existing) {
		created, err := c.create(ctx)
		if !isStale(err) || c.options.createOnly {
			return Created, created, err
		}
		// The name is in use by an object that the cache does not contain yet or does not select.
		if existing, err = c.getLive(ctx); err != nil {
			return Unchanged, nil, err
		}
	}
	return c.update(ctx, existing)
}

// create applies with a resourceVersion that no stored object can have. The API
// server ignores it for an object that does not exist and returns a conflict for one
// that does, so the apply creates an object and never adopts one.
func (c *call) create(ctx context.Context) (client.Object, error) {
	u := c.cfg.fresh()
	u.SetResourceVersion("1")
	return c.send(ctx, u, false)
}

func (c *call) getLive(ctx context.Context) (client.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(c.cfg.content.GroupVersionKind())
	err := c.client.Get(ctx, client.ObjectKeyFromObject(c.cfg.content), u)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: deleted meanwhile", ErrStale)
	}
	return u, err
}

func (c *call) update(ctx context.Context, existing client.Object) (Outcome, client.Object, error) {
	if err := c.checkOwner(existing); err != nil {
		return Unchanged, nil, err
	}
	seen := stateOf(existing)
	transferred, err := c.transferFields(ctx, &seen, append([]string{beforeFirstApply}, c.options.former...))
	if err != nil {
		return Unchanged, nil, err
	}
	found, err := c.cfg.differences(existing, seen.ManagedFields, c.manager)
	if err != nil {
		return Unchanged, nil, err
	}
	switch unchanged := c.unchanged(found, seen); {
	case unchanged && transferred:
		return Updated, existing, nil
	case unchanged:
		return Unchanged, existing, nil
	}
	logr.FromContextOrDiscard(ctx).V(1).Info("Found differences",
		"kind", c.cfg.kind(), "name", existing.GetName(), "fields", found.paths())
	result, err := c.replace(ctx, seen, found)
	if err != nil {
		return Unchanged, nil, err
	}
	if result.GetResourceVersion() == existing.GetResourceVersion() {
		return Unchanged, result, nil
	}
	return Updated, result, nil
}

// replace applies to the object that the caller observed, and to no other.
//
// When another field manager changes the merge key of a list item, it owns the changed
// item and ours is missing. Adding ours again may be invalid, as with two Service ports
// of one name. Then replace first transfers to us the fields that it wrote with Update.
func (c *call) replace(ctx context.Context, seen state, found differences) (client.Object, error) {
	apply := func() (client.Object, error) {
		u := c.cfg.fresh()
		u.SetUID(seen.GetUID()) // an object that was deleted meanwhile is not created again
		if c.options.lock {
			u.SetResourceVersion(seen.GetResourceVersion())
		}
		return c.send(ctx, u, seen.fieldsUnknown())
	}
	result, err := apply()
	if !apierrors.IsInvalid(err) {
		return result, err
	}
	others, readErr := managedfields.Updaters(&seen, c.manager, found.lists())
	if readErr != nil {
		return nil, errors.Join(err, readErr)
	}
	if transferred, transferErr := c.transferFields(ctx, &seen, others); transferErr != nil || !transferred {
		return nil, errors.Join(err, transferErr)
	}
	return apply()
}

// checkOwner rejects objects that the owner does not control.
func (c *call) checkOwner(existing client.Object) error {
	controller := metav1.GetControllerOf(existing)
	switch {
	case controller == nil && !c.options.adopt:
		return fmt.Errorf("%w: it has no controller", ErrNotOwned)
	case controller != nil && controller.UID != c.owner.GetUID():
		return fmt.Errorf("%w: its controller is %s %q (uid %s)", ErrNotOwned, controller.Kind, controller.Name, controller.UID)
	case existing.GetDeletionTimestamp() != nil:
		return ErrBeingDeleted
	}
	return nil
}

// state is the part of the existing object that a transfer of fields changes.
type state struct{ metav1.ObjectMeta }

// fieldsUnknown reports whether the owned fields are unknown, as when a cache strips managed fields.
func (s state) fieldsUnknown() bool { return len(s.ManagedFields) == 0 }

func stateOf(obj client.Object) state {
	return state{metav1.ObjectMeta{
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), ManagedFields: obj.GetManagedFields(),
	}}
}

// beforeFirstApply is the name that the API server gives to the writers of an
// object from before its first server-side apply.
const beforeFirstApply = "before-first-apply"

func (c *call) transferFields(ctx context.Context, seen *state, former []string) (bool, error) {
	patch, err := managedfields.Transfer(seen, c.manager, "", former)
	if err != nil || patch == nil {
		return false, err
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(c.cfg.content.GroupVersionKind())
	target.SetNamespace(c.cfg.content.GetNamespace())
	target.SetName(c.cfg.content.GetName())
	err = c.client.Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(c.manager))
	if err != nil {
		return false, classify(err)
	}
	*seen = stateOf(target)
	return true, nil
}

// unchanged reports whether an apply would change nothing.
func (c *call) unchanged(found differences, seen state) bool {
	if c.cache.contains(seen.GetUID(), applied{hash: c.cfg.hash, found: found}) {
		return true
	}
	return len(found) == 0 && !seen.fieldsUnknown()
}

// send applies u with force: our field manager owns every field that desired sets.
func (c *call) send(ctx context.Context, u *unstructured.Unstructured, fieldsUnknown bool) (client.Object, error) {
	err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(c.manager), client.ForceOwnership)
	if err != nil {
		return nil, classify(err)
	}
	// A difference right after our own apply comes from the API server, for example
	// from a mutating webhook, and is not drift.
	seen := stateOf(u)
	if fieldsUnknown { // a later comparison lacks the managed fields too
		seen.ManagedFields = nil
	}
	found, err := c.cfg.differences(u, seen.ManagedFields, c.manager)
	if err != nil {
		return nil, err
	}
	if fieldsUnknown || len(found) > 0 {
		c.cache.record(u.GetUID(), applied{hash: c.cfg.hash, found: found})
	} else {
		c.cache.remove(u.GetUID())
	}
	return u, nil
}

func classify(err error) error {
	if apierrors.IsConflict(err) || apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid) && onlyUID(err) {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return err
}

// onlyUID reports whether err is the response to an apply for an object that was re-created meanwhile.
func onlyUID(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "metadata.uid" {
			return false
		}
	}
	return true
}

func isStale(err error) bool { return errors.Is(err, ErrStale) }

func isNil(obj client.Object) bool {
	return obj == nil || reflect.ValueOf(obj).IsNil()
}
