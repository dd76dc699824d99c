package objectsync

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
)

// confirm handles an object whose row is closed. The cache may show it as it was before its
// deletion: the row then stays closed and takes this state. Only an object that the API server
// returns opens its row, since a row may also be closed too early: by a deleting annotation that
// was removed again, or before etcd was restored.
func (r *Reconciler) confirm(ctx context.Context, o *object.Object) error {
	live, err := r.client.Get(ctx, o.Namespace, o.Name)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.UID != o.UID:
		return r.closeRow(ctx, o, r.config.Store.Finish)
	case err != nil:
		return fmt.Errorf("get object: %w", err)
	}
	action := decide.For(r.observe(live))
	if action != decide.Sync && action != decide.Evict && action != decide.Adopt {
		return r.act(ctx, action, live)
	}
	ctrl.LoggerFrom(ctx).Info("Opening the closed row of an object that exists")
	if err := r.stored(ctx, live, r.config.Store.Reopen(ctx, live)); err != nil || action == decide.Sync {
		return err
	}
	return errStale // evict or adopt it with its open row
}
