package objectsync

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Config holds the settings of the controller of one kind.
type Config struct {
	Kind    *registry.Kind
	Store   storage.IngesterStorage
	Metrics *metrics.Metrics
	// Workers is the maximum number of concurrent reconciles. Use many: they share a
	// transaction, and larger transactions are faster.
	Workers int
	// RequeuePeriod is the maximum backoff after a failure.
	RequeuePeriod time.Duration
	// EvictImmutableKinds evicts every object of a kind that is immutable by definition.
	EvictImmutableKinds bool
	// OnDelete is called for each deleted object; its row may still be live if our finalizer
	// was removed by force. It must not block.
	OnDelete func(namespace, name string)
	// Namespaces to work in; none means all.
	Namespaces []string
	// Checkpoint records evictions in the cluster too.
	Checkpoint Checkpoint
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
}

// Checkpoint detects a database that lacks evictions; see package checkpoint.
type Checkpoint interface {
	// Behind returns an error while evictions are stopped.
	Behind(ctx context.Context) error
	// Complete compares now, and reports whether the database is known to have all evictions. The error is
	// checkpoint.ErrBehind if it lacks some.
	Complete(ctx context.Context) (bool, error)
	// Advance records an eviction that is committed, before its object is deleted.
	Advance(ctx context.Context) error
}

// Reconciler reconciles the objects of one kind.
type Reconciler struct {
	config Config
	client *cachedClient
	events events.EventRecorder
	// permissions distinguishes a rejected patch from a missing permission.
	permissions client.Client
	last        lastStates
	resync      resync
	// backoff limits the retries of objects that were not written.
	backoff workqueue.TypedRateLimiter[types.NamespacedName]
}

// New returns the reconciler of one kind. [Reconciler.SetupWithManager] starts it.
func New(config Config) *Reconciler {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.OnDelete == nil {
		config.OnDelete = func(string, string) {}
	}
	return &Reconciler{config: config, backoff: newBackoff(config.RequeuePeriod)}
}

func newBackoff(maxBackoff time.Duration) workqueue.TypedRateLimiter[types.NamespacedName] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](minBackoff, maxBackoff)
}

// SetupWithManager adds the controller and its informers to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) (err error) {
	to := connection{config: mgr.GetConfig(), http: mgr.GetHTTPClient(), clock: r.config.Clock, log: mgr.GetLogger()}
	if r.client, err = newCachedClient(r.config.Kind, to, r.config.Namespaces); err != nil {
		return err
	}
	r.events, r.permissions = mgr.GetEventRecorder("ingester"), mgr.GetClient()
	if err := mgr.Add(r.client); err != nil {
		return err
	}
	build := ctrl.NewControllerManagedBy(mgr).
		Named("ingester_" + r.config.Kind.Name).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.config.Workers,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				minBackoff, r.config.RequeuePeriod),
		}).
		WatchesRawSource(source.Func(r.startResync))
	for _, informer := range r.client.informers {
		build = build.WatchesRawSource(source.Func(informer.initialList.start)).
			WatchesRawSource(&source.Informer{
				Informer: informer, Handler: &handler.EnqueueRequestForObject{},
				Predicates: []predicate.Predicate{informer.initialList.notEnqueued(), r.last.predicate()},
			})
	}
	return build.Complete(r)
}

const (
	// minBackoff is the backoff after the first failure; RequeuePeriod is the maximum.
	minBackoff = 50 * time.Millisecond
	// reconcileTimeout bounds one reconcile, the wait for the database included.
	reconcileTimeout = 30 * time.Second
)

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	if last := r.last.get(req.NamespacedName); last != nil {
		if result, err := r.handle(ctx, last); err != nil || !result.IsZero() {
			return result, err
		}
		r.last.forget(last)
	}
	o, err := r.client.get(req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if o == nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Object not found, may have been deleted")
		r.config.OnDelete(req.Namespace, req.Name)
		return ctrl.Result{}, nil
	}
	return r.handle(ctx, o)
}

// handle runs the action that package decide chooses for an object.
func (r *Reconciler) handle(ctx context.Context, o *object.Object) (ctrl.Result, error) {
	ctx, end := steps.Start(ctx, r.config.Kind.Name, o)
	err := r.act(ctx, decide.For(r.observe(o)), o)
	end(err)
	return r.result(ctx, o, err)
}

func (r *Reconciler) observe(o *object.Object) decide.Observed {
	return decide.Observe(o, r.config.Kind.Immutable && r.config.EvictImmutableKinds)
}

// result turns an error into the result for the queue. It never returns RequeueAfter with
// an error: controller-runtime would ignore it.
func (r *Reconciler) result(ctx context.Context, o *object.Object, err error) (ctrl.Result, error) {
	log := ctrl.LoggerFrom(ctx)
	switch {
	case err == nil:
		r.backoff.Forget(nameOf(o))
		return ctrl.Result{}, nil
	case isStale(err):
		r.config.Metrics.Errors.WithLabelValues("kubernetes", "conflict").Inc()
		log.V(1).Info("Stale cache, requeueing", "reason", err.Error())
		return ctrl.Result{RequeueAfter: steps.RequeueStale}, nil
	case errors.Is(err, checkpoint.ErrBehind):
		// The checkpoint tracker logs this once.
		return ctrl.Result{RequeueAfter: r.config.RequeuePeriod}, nil
	case errors.Is(err, storage.ErrNotReady):
		// The store logs once that it waits for MySQL; do not log it for each object.
		return ctrl.Result{RequeueAfter: r.config.RequeuePeriod}, nil
	case errors.Is(err, storage.ErrNotWritten):
		// The writer logs once that the batch failed; do not log it for each object.
		return ctrl.Result{RequeueAfter: r.backoff.When(nameOf(o))}, nil
	case errors.Is(err, storage.ErrRejected):
		r.reject(o, err)
		return ctrl.Result{}, reconcile.TerminalError(err)
	default:
		return ctrl.Result{}, err
	}
}
