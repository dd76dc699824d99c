package objectsync

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Config holds the settings of the controller of one kind.
type Config struct {
	Kind *registry.Kind
	// Workers is how many objects are reconciled at the same time. Use many: they share
	// a transaction, and larger transactions are faster.
	Workers int
	// RequeuePeriod is the maximum backoff after a failure.
	RequeuePeriod time.Duration
	// EvictImmutableKinds evicts every object of a kind that is immutable by definition.
	EvictImmutableKinds bool
	// OnGone is called for each deleted object; its row may still be live if our finalizer
	// was removed by force. It must not block.
	OnGone func(namespace, name string)
	// Namespaces to work in; none means all.
	Namespaces []string
	// Checkpoint records evictions in the cluster too.
	Checkpoint Checkpoint
	// Clock is the real one when nil.
	Clock clock.PassiveClock
}

// Checkpoint detects a database that lacks evictions; see package checkpoint.
type Checkpoint interface {
	// Behind returns an error while nothing may be evicted.
	Behind(ctx context.Context) error
	// Check compares now, and returns an error unless the database has all evictions.
	Check(ctx context.Context) error
	// Advance records an eviction that is committed, before its object is deleted.
	Advance(ctx context.Context) error
}

// Controller reconciles the objects of one kind.
type Controller struct {
	config  Config
	cluster *cluster
	store   storage.Keeper
	events  events.EventRecorder
	metrics *metrics.Metrics
	last    lastStates
	// pauses holds the backoff of objects that were not written.
	pauses workqueue.TypedRateLimiter[types.NamespacedName]
	err    error // why it cannot work
}

// New returns the controller of one kind on a manager.
func New(mgr ctrl.Manager, store storage.Keeper, m *metrics.Metrics, config Config) *Controller {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.OnGone == nil {
		config.OnGone = func(string, string) {}
	}
	to := connection{config: mgr.GetConfig(), http: mgr.GetHTTPClient(), clock: config.Clock, log: mgr.GetLogger()}
	c, err := newCluster(config.Kind, to, config.Namespaces)
	return &Controller{config: config, cluster: c, store: store, events: mgr.GetEventRecorder("ingester"), metrics: m, err: err, pauses: newPauses(config.RequeuePeriod)}
}

func newPauses(longest time.Duration) workqueue.TypedRateLimiter[types.NamespacedName] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRequeue, longest)
}

// Register adds the controller to the manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	if c.err != nil {
		return c.err
	}
	if err := mgr.Add(c.cluster); err != nil {
		return err
	}
	build := ctrl.NewControllerManagedBy(mgr).
		Named("ingester_" + c.config.Kind.Name).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: c.config.Workers,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				firstRequeue, c.config.RequeuePeriod),
		})
	for _, informer := range c.cluster.informers {
		build = build.WatchesRawSource(source.Func(informer.early.start)).
			WatchesRawSource(&source.Informer{
				Informer: informer, Handler: &handler.EnqueueRequestForObject{},
				Predicates: []predicate.Predicate{informer.early.unseen(), c.last.predicate()},
			})
	}
	return build.Complete(c)
}

const (
	firstRequeue = 50 * time.Millisecond
	// reconcileTimeout bounds one reconcile, the wait for the database included.
	reconcileTimeout = 30 * time.Second
	// conflictPause is the delay before a decision from a stale copy is repeated. The
	// change that made the copy stale usually arrives first.
	conflictPause = 500 * time.Millisecond
)

// Reconcile implements reconcile.Reconciler.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	if last := c.last.get(req.NamespacedName); last != nil {
		if result, err := c.handle(ctx, last); err != nil || !result.IsZero() {
			return result, err
		}
		c.last.forget(last)
	}
	o, err := c.cluster.get(req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if o == nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Object not found, may have been deleted")
		c.config.OnGone(req.Namespace, req.Name)
		return ctrl.Result{}, nil
	}
	return c.handle(ctx, o)
}

// handle runs the action that package decide chose for an object.
func (c *Controller) handle(ctx context.Context, o *object.Object) (ctrl.Result, error) {
	ctx, end := steps.Begin(ctx, c.config.Kind.Name, o)
	err := c.act(ctx, decide.For(c.seen(o)), o)
	end(err)
	return c.result(ctx, o, err)
}

func (c *Controller) seen(o *object.Object) decide.Seen {
	return decide.Seen{
		Found:         true,
		Terminating:   o.DeletionTimestamp != nil,
		Finalizer:     slices.Contains(o.Finalizers, api.IngesterFinalizer),
		DeletingMark:  api.IsSet(o.Annotations, api.DeletingAnnotation),
		ImmutableMark: api.IsSet(o.Annotations, api.ImmutableAnnotation),
		ImmutableKind: c.config.Kind.Immutable && c.config.EvictImmutableKinds,
	}
}

// result turns an error into the result for the queue. RequeueAfter is never returned
// with an error: it would be ignored.
func (c *Controller) result(ctx context.Context, o *object.Object, err error) (ctrl.Result, error) {
	log := ctrl.LoggerFrom(ctx)
	switch {
	case err == nil:
		c.pauses.Forget(nameOf(o))
		return ctrl.Result{}, nil
	case errors.Is(err, errOutdated) || apierrors.IsConflict(err):
		c.metrics.Errors.WithLabelValues("kubernetes", "conflict").Inc()
		log.V(1).Info("Decided from an outdated copy, deciding anew", "reason", err.Error())
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	case errors.Is(err, checkpoint.ErrBehind):
		// The keeper of the checkpoint logs this once.
		return ctrl.Result{RequeueAfter: c.config.RequeuePeriod}, nil
	case errors.Is(err, storage.ErrNotReady):
		// The store logs once that it waits for MySQL; do not log it for each object.
		return ctrl.Result{RequeueAfter: c.config.RequeuePeriod}, nil
	case errors.Is(err, storage.ErrNotWritten):
		// The writer logs once that the batch failed; do not log it for each object.
		return ctrl.Result{RequeueAfter: c.pauses.When(nameOf(o))}, nil
	case errors.Is(err, storage.ErrRejected):
		c.reject(o, err)
		return ctrl.Result{}, reconcile.TerminalError(err)
	default:
		return ctrl.Result{}, err
	}
}
