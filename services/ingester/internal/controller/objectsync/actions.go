package objectsync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// errOutdated means that storage has a newer version of an object that is to be
// deleted: our cache is stale, and removing the finalizer now would lose the latest state.
var errOutdated = errors.New("storage holds a newer version than the cache")

func (c *Controller) act(ctx context.Context, action decide.Action, o *object.Object) error {
	switch action {
	case decide.Finish:
		return c.finish(ctx, o)
	case decide.Delete:
		return c.delete(ctx, o)
	case decide.Evict:
		return c.evict(ctx, o)
	case decide.Release:
		return c.letGo(ctx, o)
	case decide.Adopt:
		return c.adopt(ctx, o)
	default:
		return c.sync(ctx, o)
	}
}

// sync stores the object. A stale copy is not a failure: the newer one is already stored.
func (c *Controller) sync(ctx context.Context, o *object.Object) error {
	err := c.store.Upsert(ctx, o, false, nil)
	if errors.Is(err, storage.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	c.committed(o)
	ctrl.LoggerFrom(ctx).V(1).Info("Successfully synced object to metadata storage")
	return nil
}

// committed observes the time from the watch event to the commit. Objects of a list are
// not counted: they have no watch event.
func (c *Controller) committed(o *object.Object) {
	if !o.Received.IsZero() {
		c.metrics.EventToCommit.WithLabelValues(c.config.Kind.Name).Observe(c.config.Clock.Since(o.Received).Seconds())
	}
}

// adopt adds our finalizer to the object, so that its deletion cannot be missed, and
// stores the result of the patch: one write instead of two.
func (c *Controller) adopt(ctx context.Context, o *object.Object) error {
	adopted, err := c.cluster.PatchFinalizers(ctx, o, fieldManager, append(slices.Clone(o.Finalizers), api.IngesterFinalizer))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	adopted.Received = o.Received
	c.metrics.Adopted.WithLabelValues(c.config.Kind.Name).Inc()
	return c.sync(ctx, adopted)
}

// finish closes the row of a terminating object and removes our finalizer.
func (c *Controller) finish(ctx context.Context, o *object.Object) error {
	log := ctrl.LoggerFrom(ctx)
	log.V(1).Info("Object is being deleted")
	if err := c.closeRow(ctx, o, c.store.Finish); err != nil {
		return err
	}
	if !slices.Contains(o.Finalizers, api.IngesterFinalizer) {
		log.V(1).Info("Finalizer not present, nothing to do")
		return nil
	}
	_, err := c.release(ctx, o)
	return err
}

// letGo closes the row of an object that only foreign finalizers hold, unless it was
// evicted. An older database may lack the eviction: then the row is kept.
func (c *Controller) letGo(ctx context.Context, o *object.Object) error {
	err := c.config.Checkpoint.Check(ctx)
	if errors.Is(err, checkpoint.ErrBehind) {
		return c.closeRow(ctx, o, c.store.Evict)
	}
	if err != nil {
		return fmt.Errorf("compare the checkpoints: %w", err)
	}
	return c.closeRow(ctx, o, c.store.Release)
}

// delete closes the row of an object that carries the deleting annotation, then deletes the object.
func (c *Controller) delete(ctx context.Context, o *object.Object) error {
	ctrl.LoggerFrom(ctx).Info("Object marked for deletion via annotation")
	if err := c.closeRow(ctx, o, c.store.Finish); err != nil {
		return err
	}
	return c.remove(ctx, o)
}

// closeRow stores the object's final state and closes its row. A final state that
// cannot be stored must not hold the object indefinitely, since it may no longer be
// possible to change it: the row is closed as stored, and the loss is reported.
func (c *Controller) closeRow(ctx context.Context, o *object.Object, store func(context.Context, runtime.Object) error) error {
	err := current(store(ctx, o))
	if errors.Is(err, storage.ErrRejected) {
		ctrl.LoggerFrom(ctx).Info("The final state cannot be stored, closing the row as it is", "reason", err.Error())
		c.reject(o, err)
		c.metrics.Incomplete.WithLabelValues(c.config.Kind.Name).Inc()
		err = current(c.store.Abandon(ctx, o))
	}
	if err != nil {
		return fmt.Errorf("delete from metadata storage: %w", err)
	}
	c.committed(o)
	return nil
}

// evict stores the object one last time and deletes it from the cluster. Its row stays live
// and has exactly the deleted version: a change that the API server acknowledged meanwhile
// makes the deletion a conflict.
func (c *Controller) evict(ctx context.Context, o *object.Object) error {
	if err := c.config.Checkpoint.Behind(ctx); err != nil {
		return c.keep(ctx, o, err)
	}
	ctrl.LoggerFrom(ctx).Info("Object is immutable, removing from K8s/ETCD")
	if err := current(c.store.Evict(ctx, o)); err != nil {
		return fmt.Errorf("store evicted object: %w", err)
	}
	c.committed(o)
	released, err := c.release(ctx, o)
	if err != nil {
		return err
	}
	if released.ResourceVersion != o.ResourceVersion {
		if err := current(c.store.Evict(ctx, released)); err != nil {
			return fmt.Errorf("store released object: %w", err)
		}
	}
	if err := c.config.Checkpoint.Advance(ctx); err != nil {
		return fmt.Errorf("advance the checkpoint: %w", err)
	}
	return c.remove(ctx, released)
}

// keep stores an object that is not evicted while the database is behind, and returns the reason.
func (c *Controller) keep(ctx context.Context, o *object.Object, reason error) error {
	if err := c.sync(ctx, o); err != nil {
		return err
	}
	return reason
}

// remove removes our finalizer and deletes exactly the version that was decided on.
func (c *Controller) remove(ctx context.Context, o *object.Object) error {
	o, err := c.release(ctx, o)
	if err != nil {
		return err
	}
	if err := client.IgnoreNotFound(c.cluster.Delete(ctx, o)); err != nil {
		return fmt.Errorf("delete object: %w", err)
	}
	return nil
}

// release removes our finalizer and returns the resulting object. An object that is
// not found is a success.
func (c *Controller) release(ctx context.Context, o *object.Object) (*object.Object, error) {
	left := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == api.IngesterFinalizer })
	if len(left) == len(o.Finalizers) {
		return o, nil
	}
	released, err := c.cluster.PatchFinalizers(ctx, o, fieldManager, left)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("remove finalizer: %w", err)
	}
	if released == nil {
		return o, nil
	}
	return released, nil
}

// fieldManager is our name in managedFields.
const fieldManager = "ingester"

// current turns a stale write into an error that causes a new decision.
func current(err error) error {
	if errors.Is(err, storage.ErrStale) {
		return errOutdated
	}
	return err
}
