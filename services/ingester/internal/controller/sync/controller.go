package sync

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Config says how one kind is handled.
type Config struct {
	Kind *registry.Kind
	// Workers is how many objects are handled at the same time. Many are wanted: they
	// wait for a common transaction, and its size is what makes it fast.
	Workers int
	// RequeuePeriod is the longest pause before a failure is tried again.
	RequeuePeriod time.Duration
	// EvictImmutableKinds evicts every object of a kind that is immutable by definition.
	EvictImmutableKinds bool
}

// Controller handles one kind.
type Controller struct {
	config  Config
	reader  client.Reader // the cache
	client  client.Client
	store   storage.MetadataStorage
	events  events.EventRecorder
	metrics *metrics.Metrics
}

// New returns the controller of one kind on a manager.
func New(mgr ctrl.Manager, store storage.MetadataStorage, m *metrics.Metrics, config Config) *Controller {
	return &Controller{
		config: config, reader: mgr.GetCache(), client: mgr.GetClient(), store: store,
		events: mgr.GetEventRecorder("ingester"), metrics: m,
	}
}

// Register adds the controller to the manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(c.object()).
		Named("ingester_" + c.config.Kind.Name).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: c.config.Workers,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				firstRequeue, c.config.RequeuePeriod),
		}).
		Complete(c)
}

const (
	firstRequeue = 50 * time.Millisecond
	// reconcileTimeout bounds one reconcile, the wait for the database included.
	reconcileTimeout = 30 * time.Second
	// conflictPause is how soon a decision from an outdated copy is made anew. The
	// change that caused it usually arrives first.
	conflictPause = 500 * time.Millisecond
)

func (c *Controller) object() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(c.config.Kind.GVK())
	return u
}

// Reconcile implements reconcile.Reconciler.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	object := c.object()
	err := c.reader.Get(ctx, req.NamespacedName, object)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	err = c.act(ctx, decide.For(c.seen(object, err == nil)), object)
	return c.result(ctx, object, err)
}

func (c *Controller) seen(object *unstructured.Unstructured, found bool) decide.Seen {
	annotations := object.GetAnnotations()
	return decide.Seen{
		Found:         found,
		Terminating:   object.GetDeletionTimestamp() != nil,
		Finalizer:     controllerutil.ContainsFinalizer(object, api.IngesterFinalizer),
		DeletingMark:  api.IsSet(annotations, api.DeletingAnnotation),
		ImmutableMark: api.IsSet(annotations, api.ImmutableAnnotation),
		ImmutableKind: c.config.Kind.Immutable && c.config.EvictImmutableKinds,
	}
}

// result turns an error into what the queue shall do. RequeueAfter is never returned
// beside an error: it would be ignored.
func (c *Controller) result(ctx context.Context, object *unstructured.Unstructured, err error) (ctrl.Result, error) {
	log := ctrl.LoggerFrom(ctx)
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case errors.Is(err, errOutdated) || apierrors.IsConflict(err):
		c.metrics.Errors.WithLabelValues("kubernetes", "conflict").Inc()
		log.V(1).Info("Decided from an outdated copy, deciding anew", "reason", err.Error())
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	case errors.Is(err, storage.ErrNotReady):
		// The store says once that it waits for MySQL; each object need not say it again.
		return ctrl.Result{RequeueAfter: c.config.RequeuePeriod}, nil
	case errors.Is(err, storage.ErrRejected):
		c.events.Eventf(object, nil, "Warning", reasonRejected, "Store", "%s", message(err))
		return ctrl.Result{}, reconcile.TerminalError(err)
	default:
		return ctrl.Result{}, err
	}
}

// reasonRejected is the event on an object that cannot be stored.
const reasonRejected = "StorageRejected"

// maxMessage is the longest note that the API server takes for an event.
const maxMessage = 1000

func message(err error) string {
	text := err.Error()
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	return text
}
