package sync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// errOutdated says that storage has a newer version of an object that is to be
// deleted: our copy lags behind, and letting the object go now would lose the newest state.
var errOutdated = errors.New("storage holds a newer version than the cache")

func (c *Controller) act(ctx context.Context, action decide.Action, object *unstructured.Unstructured) error {
	switch action {
	case decide.Finish:
		return c.finish(ctx, object)
	case decide.Delete:
		return c.delete(ctx, object)
	case decide.Evict:
		return c.evict(ctx, object)
	case decide.KeepEvicted:
		return current(c.store.Upsert(ctx, object, storage.Evicted()))
	case decide.Adopt:
		return c.adopt(ctx, object)
	case decide.Sync:
		return c.sync(ctx, object)
	default:
		ctrl.LoggerFrom(ctx).V(1).Info("Object not found, may have been deleted")
		return nil
	}
}

// sync stores the object. An outdated copy is no failure: the newer one is stored already.
func (c *Controller) sync(ctx context.Context, object *unstructured.Unstructured) error {
	err := c.store.Upsert(ctx, object)
	if errors.Is(err, storage.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Successfully synced object to metadata storage")
	return nil
}

// adopt gives the object our finalizer, so that its deletion cannot pass unseen, and
// stores what the patch returned: one write instead of two.
func (c *Controller) adopt(ctx context.Context, object *unstructured.Unstructured) error {
	object = object.DeepCopy()
	finalizers := append(object.GetFinalizers(), api.IngesterFinalizer)
	if err := c.patchFinalizers(ctx, object, finalizers); err != nil {
		return client.IgnoreNotFound(err)
	}
	c.metrics.Adopted.WithLabelValues(c.config.Kind.Name).Inc()
	return c.sync(ctx, object)
}

// finish closes the row of an object that is being deleted and lets it go.
func (c *Controller) finish(ctx context.Context, object *unstructured.Unstructured) error {
	log := ctrl.LoggerFrom(ctx)
	log.V(1).Info("Object is being deleted")
	if err := current(c.store.Delete(ctx, object)); err != nil {
		return fmt.Errorf("delete from metadata storage: %w", err)
	}
	if !controllerutil.ContainsFinalizer(object, api.IngesterFinalizer) {
		log.V(1).Info("Finalizer not present, nothing to do")
		return nil
	}
	_, err := c.release(ctx, object)
	return err
}

// delete closes the row of an object that carries the deleting annotation, then deletes the object.
func (c *Controller) delete(ctx context.Context, object *unstructured.Unstructured) error {
	ctrl.LoggerFrom(ctx).Info("Object marked for deletion via annotation")
	if err := current(c.store.Delete(ctx, object)); err != nil {
		return fmt.Errorf("delete from metadata storage: %w", err)
	}
	return c.remove(ctx, object)
}

// evict stores the object one last time and deletes it from the cluster. Its row stays live.
func (c *Controller) evict(ctx context.Context, object *unstructured.Unstructured) error {
	ctrl.LoggerFrom(ctx).Info("Object is immutable, removing from K8s/ETCD")
	if err := current(c.store.Upsert(ctx, object, storage.Evicted())); err != nil {
		return fmt.Errorf("store evicted object: %w", err)
	}
	return c.remove(ctx, object)
}

// remove takes our finalizer off and deletes exactly the version that was decided on.
func (c *Controller) remove(ctx context.Context, object *unstructured.Unstructured) error {
	object, err := c.release(ctx, object)
	if err != nil {
		return err
	}
	uid, version := object.GetUID(), object.GetResourceVersion()
	err = c.client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete object: %w", err)
	}
	return nil
}

// release takes our finalizer off and returns the object as it is then. An object
// that is gone is what we wanted.
func (c *Controller) release(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object = object.DeepCopy()
	if !controllerutil.RemoveFinalizer(object, api.IngesterFinalizer) {
		return object, nil
	}
	err := c.patchFinalizers(ctx, object, object.GetFinalizers())
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("remove finalizer: %w", err)
	}
	return object, nil
}

// patchFinalizers sets the list of finalizers, provided that the object has not
// changed, and fills object with the answer.
func (c *Controller) patchFinalizers(ctx context.Context, object *unstructured.Unstructured, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": object.GetResourceVersion(),
		"uid":             object.GetUID(),
		"finalizers":      finalizers,
	}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	return c.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager))
}

// fieldManager is our name in managedFields.
const fieldManager = "ingester"

// current makes a stale write an error that is decided anew.
func current(err error) error {
	if errors.Is(err, storage.ErrStale) {
		return errOutdated
	}
	return err
}
