package object

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Bounds of the backoff after a failed reconcile.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// Config holds the dependencies of the controller.
type Config struct {
	Kinds    registry.Set
	Model    *model.Store
	Liveness *liveness.Tracker
	Reader   Reader
	History  Records
	Writer   Writer
	Queue    *Queue
	// Permitted reports whether this process may write: it is the leader, has caught up with
	// the bus and holds the Lease. When this becomes true, the caller enqueues all objects.
	Permitted func() bool
	// PurgeTombstone removes the observations of a deleted object up to a position, asynchronously. It calls done unless the
	// position belongs to a former generation of the stream.
	PurgeTombstone func(ref contract.Ref, upTo model.Position, done func()) error
	Clock          clock.PassiveClock
	Metrics        *metrics.Metrics
	Workers        int
}

// Reader reads the managed objects. [observe.Watcher] implements it and documents the methods.
type Reader interface {
	Get(ctx context.Context, kind registry.Kind, ref contract.Ref) (observe.Object, error)
	GetUncached(ctx context.Context, kind registry.Kind, ref contract.Ref) (observe.Object, error)
	GetUncachedUID(ctx context.Context, kind registry.Kind, ref contract.Ref) (string, error)
	Last(kind registry.Kind, ref contract.Ref, uid string) (observe.Object, bool)
	Drop(ref contract.Ref)
}

// Records stores the status entry of each object. [history.Store] implements it and documents the methods.
type Records interface {
	Load(ctx context.Context, ref contract.Ref) (*history.Record, error)
	Put(ctx context.Context, ref contract.Ref, e contract.StatusEntry, m conditions.State) (*history.Record, error)
	Phases(ctx context.Context, ref contract.Ref, o contract.Object, ring []transition.Entry) (int64, error)
	Flush(ctx context.Context, ref contract.Ref) error
	PublishDeleted(ctx context.Context, ref contract.Ref, gap bool) error
	Delete(ctx context.Context, ref contract.Ref, gap bool) error
}

// Writer applies conditions to an object under its resourceVersion. [ownedstatus.Writer] implements it.
type Writer interface {
	ApplyConditions(ctx context.Context, current client.Object, conditions []metav1.Condition) (changed bool, err error)
}

// Reconciler reconciles managed objects by their name on the bus.
type Reconciler struct {
	cfg     Config
	details *coalesce.Details[contract.Ref] // limits the writes of reasons and messages only

	mu      sync.Mutex
	written map[contract.Ref]string    // resourceVersion before the controller's last write
	waiting map[contract.Ref]time.Time // start of the wait for a usable observation
}

// New returns a reconciler that does nothing before [Reconciler.SetupWithManager].
func New(cfg Config) *Reconciler {
	cfg.Metrics.Writes.WithLabelValues(writeRefused) // begins at 0, so that the first increase is visible
	return &Reconciler{
		cfg: cfg, details: coalesce.New[contract.Ref](cfg.Clock),
		written: map[contract.Ref]string{}, waiting: map[contract.Ref]time.Time{},
	}
}

// steps lists the steps of a reconcile in order.
func (r *Reconciler) steps() []steps.Step[reconcileState] {
	return []steps.Step[reconcileState]{
		{Name: "check permission", Run: r.guard},
		{Name: "load", Run: r.load},
		{Name: "replace incarnation", Run: r.replace},
		{Name: "compute", Run: r.compute},
		{Name: "publish phases", Run: r.phases},
		{Name: "record", Run: r.record},
		{Name: "publish events", Run: r.events},
		{Name: "write conditions", Run: r.write},
	}
}

// Reconcile computes and writes the status of one object.
func (r *Reconciler) Reconcile(ctx context.Context, ref contract.Ref) (reconcile.Result, error) {
	s := &reconcileState{ref: ref, now: r.cfg.Clock.Now()}
	result, err := steps.Run(ctx, s, r.steps())
	s.finish(err)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: result.Requeue}, nil
}

// SetupWithManager adds the controller to the manager, which runs it on the leader only.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	ctl, err := controller.NewTyped("status", mgr, controller.TypedOptions[contract.Ref]{
		Reconciler:              r.cfg.Queue.record(r),
		MaxConcurrentReconciles: r.cfg.Workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[contract.Ref](minBackoff, maxBackoff),
	})
	if err != nil {
		return err
	}
	return ctl.Watch(r.cfg.Queue.Source())
}

// isStale reports whether the cache still shows the object as it was before the last write.
func (r *Reconciler) isStale(ref contract.Ref, resourceVersion string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	version, ok := r.written[ref]
	if ok && version != resourceVersion {
		delete(r.written, ref)
	}
	return ok && version == resourceVersion
}

func (r *Reconciler) recordWrite(ref contract.Ref, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[ref] = version
}

// waitingSince returns when the object began to wait for a usable observation, or now if it does not wait yet.
func (r *Reconciler) waitingSince(ref contract.Ref, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if since, ok := r.waiting[ref]; ok {
		return since
	}
	return now
}

// startWaiting records now as the start of the wait, unless the object already waits.
func (r *Reconciler) startWaiting(ref contract.Ref, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.waiting[ref]; !ok {
		r.waiting[ref] = now
	}
}

// ResetGrace restarts the grace period of all objects: time in which the controller could
// not write does not count.
func (r *Reconciler) ResetGrace() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.waiting)
}

func (r *Reconciler) clearWaiting(ref contract.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, ref)
}

func (r *Reconciler) forget(ref contract.Ref) {
	r.details.Forget(ref)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, ref)
	delete(r.written, ref)
}
