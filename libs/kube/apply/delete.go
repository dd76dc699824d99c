package apply

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete deletes the object that the caller's cache shows, and only that one: a
// re-created object of the same name stays. It returns no error for an object that is
// deleted or terminating and, if the cache shows that, sends no request.
func (a *Applier) Delete(ctx context.Context, obj client.Object, opts ...Option) error {
	if isNil(obj) || obj.GetDeletionTimestamp() != nil {
		return nil
	}
	o := a.options.with(opts)
	if o.propagation == "" {
		o.propagation = metav1.DeletePropagationBackground
	}
	err := a.client.Delete(ctx, obj, client.PropagationPolicy(o.propagation), client.Preconditions{UID: new(obj.GetUID())})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		// Deleted, or deleted and re-created: the object in question does not exist.
		a.cache.remove(obj.GetUID())
		return nil
	case err != nil:
		return fmt.Errorf("delete %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	a.cache.remove(obj.GetUID())
	logr.FromContextOrDiscard(ctx).Info("Deleted object", "kind", fmt.Sprintf("%T", obj), "name", obj.GetName())
	return nil
}
