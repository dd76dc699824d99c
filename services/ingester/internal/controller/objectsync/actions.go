package objectsync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// errStale means that storage has a newer version of an object that is to be
// deleted: removing the finalizer now would lose the latest state.
var errStale = errors.New("stale cache: storage has a newer version")

// isStale reports whether the decision must be made again from a newer object.
func isStale(err error) bool { return errors.Is(err, errStale) || apierrors.IsConflict(err) }

func (r *Reconciler) act(ctx context.Context, action decide.Action, o *object.Object) error {
	switch action {
	case decide.Finish:
		return r.reconcileDelete(ctx, o)
	case decide.Delete:
		return r.deleteMarked(ctx, o)
	case decide.Evict:
		return r.evict(ctx, o)
	case decide.Release:
		return r.closeReleased(ctx, o)
	case decide.Adopt:
		return r.ensureFinalizer(ctx, o)
	default:
		return r.sync(ctx, o)
	}
}

// sync stores the object.
func (r *Reconciler) sync(ctx context.Context, o *object.Object) error {
	err := r.config.Store.Upsert(ctx, o, false, nil)
	if errors.Is(err, storage.ErrUnconfirmed) {
		return r.confirm(ctx, o)
	}
	return r.stored(ctx, o, err)
}

// stored handles the result of storing an object. A stale object is not a failure: the newer
// version is already stored.
func (r *Reconciler) stored(ctx context.Context, o *object.Object, err error) error {
	if errors.Is(err, storage.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	r.observeCommit(o)
	ctrl.LoggerFrom(ctx).V(1).Info("Successfully synced object to metadata storage")
	return nil
}

// observeCommit observes the time from the watch event to the commit. Objects of a list are
// not counted: they have no watch event. Nor are those that changed before the last resync, or
// before the replica became the leader: their reconcile does not follow from their event.
func (r *Reconciler) observeCommit(o *object.Object) {
	if !o.Received.IsZero() && !r.resync.precedes(o.Received) {
		r.config.Metrics.EventToCommit.WithLabelValues(r.config.Kind.Name).Observe(r.config.Clock.Since(o.Received).Seconds())
	}
}

// ensureFinalizer adds our finalizer to the object, so that its deletion cannot be missed, and
// stores the result of the patch: one write instead of two. An object that cannot be patched is
// stored too: otherwise a policy that rejects each update would leave it without a copy.
func (r *Reconciler) ensureFinalizer(ctx context.Context, o *object.Object) error {
	adopted, err := r.client.PatchFinalizers(ctx, o, fieldManager, append(slices.Clone(o.Finalizers), api.IngesterFinalizer))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return err
	case err != nil:
		r.rejectFinalizer(ctx, o, err)
		return errors.Join(fmt.Errorf("add finalizer: %w", err), r.sync(ctx, withoutReceived(o)))
	}
	adopted.Received = o.Received
	r.config.Metrics.Adopted.WithLabelValues(r.config.Kind.Name).Inc()
	return r.sync(ctx, adopted)
}

// withoutReceived returns a copy that [Reconciler.observeCommit] does not count: the retries of an
// object are not its first commit.
func withoutReceived(o *object.Object) *object.Object {
	out := *o
	out.Received = time.Time{}
	return &out
}

// reconcileDelete closes the row of a terminating object and removes our finalizer.
func (r *Reconciler) reconcileDelete(ctx context.Context, o *object.Object) error {
	log := ctrl.LoggerFrom(ctx)
	log.V(1).Info("Object is being deleted")
	if err := r.closeRow(ctx, o, r.config.Store.Finish); err != nil {
		return err
	}
	if !slices.Contains(o.Finalizers, api.IngesterFinalizer) {
		log.V(1).Info("Finalizer not present, nothing to do")
		return nil
	}
	_, err := r.removeFinalizer(ctx, o)
	return err
}

// closeReleased closes the row of an object that only foreign finalizers hold, unless it was
// evicted, which an older database may lack. Without a row, a complete database has purged it
// after it was closed: nothing is stored. Another one may lack the only copy of the object.
func (r *Reconciler) closeReleased(ctx context.Context, o *object.Object) error {
	complete, err := r.config.Checkpoint.Complete(ctx)
	switch {
	case errors.Is(err, checkpoint.ErrBehind):
		return r.closeRow(ctx, o, func(ctx context.Context, o runtime.Object) error {
			_, err := checkpoint.StoreReleased(ctx, r.config.Store, o)
			return err
		})
	case err != nil:
		return fmt.Errorf("compare checkpoints: %w", err)
	}
	if err = r.closeRow(ctx, o, r.config.Store.Release); !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if complete {
		return nil
	}
	if observed := r.observe(o); observed.ImmutableMark || observed.ImmutableKind {
		return r.closeRow(ctx, o, r.config.Store.Evict)
	}
	return r.closeRow(ctx, o, r.config.Store.Finish)
}

// deleteMarked closes the row of an object that carries the deleting annotation, then deletes the object.
func (r *Reconciler) deleteMarked(ctx context.Context, o *object.Object) error {
	ctrl.LoggerFrom(ctx).Info("Object marked for deletion via annotation")
	if err := r.closeRow(ctx, o, r.config.Store.Finish); err != nil {
		return err
	}
	return r.deleteVersion(ctx, o, nil)
}

// closeRow stores the object's final state and closes its row. A final state that
// cannot be stored must not hold the object indefinitely, since it may no longer be
// possible to change it: the row is closed as stored, and the loss is reported.
func (r *Reconciler) closeRow(ctx context.Context, o *object.Object, store func(context.Context, runtime.Object) error) error {
	err := current(store(ctx, o))
	if errors.Is(err, storage.ErrRejected) {
		ctrl.LoggerFrom(ctx).Info("Failed to store the final state, closing the row as stored", "reason", err.Error())
		r.reject(o, err)
		r.config.Metrics.Incomplete.WithLabelValues(r.config.Kind.Name).Inc()
		err = current(r.config.Store.Abandon(ctx, o))
	}
	if err != nil {
		return fmt.Errorf("delete from metadata storage: %w", err)
	}
	r.observeCommit(o)
	return nil
}

// evict stores the object one last time and deletes it from the cluster. Its row stays live
// and has exactly the deleted version: a change that the API server acknowledged meanwhile
// makes the deletion a conflict. The object still exists, in storage, so its dependents stay: the garbage
// collector removes their references to it, and holds it until then with the finalizer orphan.
func (r *Reconciler) evict(ctx context.Context, o *object.Object) error {
	if err := r.config.Checkpoint.Behind(ctx); err != nil {
		return r.keep(ctx, o, err)
	}
	ctrl.LoggerFrom(ctx).Info("Object is immutable, removing from K8s/ETCD")
	err := current(r.config.Store.Evict(ctx, o))
	if errors.Is(err, storage.ErrUnconfirmed) {
		return r.confirm(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("mark row as evicted: %w", err)
	}
	r.observeCommit(o)
	released, err := r.removeFinalizer(ctx, o)
	if err != nil {
		return err
	}
	if released.ResourceVersion != o.ResourceVersion {
		if err := current(r.config.Store.Evict(ctx, released)); err != nil {
			return fmt.Errorf("mark row as evicted after the finalizer was removed: %w", err)
		}
	}
	if err := r.config.Checkpoint.Advance(ctx); err != nil {
		return fmt.Errorf("advance checkpoint: %w", err)
	}
	return r.deleteVersion(ctx, released, new(metav1.DeletePropagationOrphan))
}

// keep stores an object that must not be evicted while the database is behind, and returns the reason.
func (r *Reconciler) keep(ctx context.Context, o *object.Object, reason error) error {
	if err := r.sync(ctx, o); err != nil {
		return err
	}
	return reason
}

// deleteVersion removes our finalizer and deletes exactly the version of the decision, with a policy for its dependents.
func (r *Reconciler) deleteVersion(ctx context.Context, o *object.Object, dependents *metav1.DeletionPropagation) error {
	o, err := r.removeFinalizer(ctx, o)
	if err != nil {
		return err
	}
	if err := client.IgnoreNotFound(r.client.Delete(ctx, o, dependents)); err != nil {
		return fmt.Errorf("delete object: %w", err)
	}
	return nil
}

// removeFinalizer removes our finalizer and returns the resulting object. An object that is
// not found is a success.
func (r *Reconciler) removeFinalizer(ctx context.Context, o *object.Object) (*object.Object, error) {
	remaining := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == api.IngesterFinalizer })
	if len(remaining) == len(o.Finalizers) {
		return o, nil
	}
	released, err := r.client.PatchFinalizers(ctx, o, fieldManager, remaining)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("remove finalizer: %w", err)
	}
	if released == nil {
		return o, nil
	}
	return released, nil
}

// fieldManager is the ingester's field manager.
const fieldManager = "ingester"

// current turns a stale write into an error that causes a new decision.
func current(err error) error {
	if errors.Is(err, storage.ErrStale) {
		return errStale
	}
	return err
}
