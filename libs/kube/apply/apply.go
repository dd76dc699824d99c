package apply

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HashAnnotation holds the hash of the desired object as it was last applied.
const HashAnnotation = "flotilla.dev/applied-hash"

// Outcome says what [Applier.Object] did.
type Outcome string

// Outcomes of an apply.
const (
	Created   Outcome = "Created"
	Updated   Outcome = "Updated"
	Unchanged Outcome = "Unchanged"
)

// Errors that callers branch on with errors.Is.
var (
	// ErrNotOwned says that the object exists and is not the owner's: another controller
	// owns it, or nobody does and [WithAdoption] was not given.
	ErrNotOwned = errors.New("object exists and is not ours")
	// ErrBeingDeleted says that the existing object is on its way out; apply again once it is gone.
	ErrBeingDeleted = errors.New("object is being deleted")
	// ErrStale says that the cache does not show the object as it is; requeue and look again.
	ErrStale = errors.New("cached object is stale")
)

// Applier writes objects under one field manager. It is safe for concurrent use.
type Applier struct {
	client  client.Client
	manager string
	options options
}

type options struct {
	former      []string
	adopt       bool
	propagation metav1.DeletionPropagation
}

// Option changes how an [Applier] writes, for all its calls or for one.
type Option func(*options)

// WithFormerManagers names field managers whose fields are taken over, typically
// those of an earlier release that wrote with Update. The Applier's own name is
// always among them.
func WithFormerManagers(names ...string) Option {
	return func(o *options) { o.former = append(o.former, names...) }
}

// WithAdoption lets an existing object without any controller become the owner's.
// An object that has another controller is never adopted.
func WithAdoption() Option { return func(o *options) { o.adopt = true } }

// WithPropagation chooses how the dependents of a deleted object go; the default is Background.
func WithPropagation(p metav1.DeletionPropagation) Option {
	return func(o *options) { o.propagation = p }
}

// New returns an Applier that writes with c under the given field manager.
func New(c client.Client, fieldManager string, opts ...Option) *Applier {
	return &Applier{client: c, manager: fieldManager}
}

// Object makes the cluster's object equal to desired in every field that desired sets.
//
// existing is the object as the caller's cache has it, or nil. owner becomes the
// controller. On success desired carries the uid, resourceVersion and generation
// of the object in the cluster, so that a caller knows which generation its
// children have to observe; the rest of desired stays as it was.
func (a *Applier) Object(ctx context.Context, owner, desired, existing client.Object, opts ...Option) (Outcome, error) {
	return Unchanged, errors.ErrUnsupported
}

// Delete removes the object that the caller's cache shows, and only that one: a
// re-created object of the same name stays. An object that is gone or already
// being deleted is no error and, if the cache shows it, no request.
func (a *Applier) Delete(ctx context.Context, obj client.Object, opts ...Option) error {
	return errors.ErrUnsupported
}

// NotInstalled says that the API server does not serve the object's kind, as when
// the resource definitions of an optional component are absent.
func NotInstalled(err error) bool { return false }
