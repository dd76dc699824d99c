package status

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
	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/silence"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/watch"
)

// Bounds of the pause after a reconcile that failed.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Config is what the controller works with.
type Config struct {
	Kinds   registry.Set
	Model   *model.Store
	Silence *silence.Tracker
	Watcher Objects
	History Records
	Writer  Writer
	Inbox   *Inbox
	// Permitted says whether this process may act: it leads, hears the bus and holds
	// the Lease. Whoever makes it true announces all objects.
	Permitted func() bool
	// Sweep removes what the bus still says of an object that is gone, up to a place in the stream.
	Sweep   func(ref contract.Ref, upTo uint64) error
	Clock   clock.PassiveClock
	Metrics *metrics.Metrics
	Workers int
}

// Objects reads the managed objects; [watch.Watcher] does, and says what each method means.
type Objects interface {
	Get(ctx context.Context, kind registry.Kind, ref contract.Ref) (watch.Object, error)
	Live(ctx context.Context, kind registry.Kind, ref contract.Ref) (watch.Object, error)
	LiveUID(ctx context.Context, kind registry.Kind, ref contract.Ref) (string, error)
	Last(kind registry.Kind, ref contract.Ref, uid string) (watch.Object, bool)
	Drop(ref contract.Ref)
}

// Records keeps what was said of each object; [history.Store] does, and says what each method means.
type Records interface {
	Load(ctx context.Context, ref contract.Ref) (*history.Record, error)
	Put(ctx context.Context, ref contract.Ref, e contract.StatusEntry, m conditions.Memory) (*history.Record, error)
	Phases(ctx context.Context, ref contract.Ref, o contract.Object, ring []transition.Entry) (int64, error)
	Flush(ctx context.Context, ref contract.Ref) error
	Bury(ctx context.Context, ref contract.Ref, gap bool) error
	Delete(ctx context.Context, ref contract.Ref, gap bool) error
}

// Writer applies conditions to an object under the resource version that it carries; [ownedstatus.Writer] does.
type Writer interface {
	ApplyConditions(ctx context.Context, current client.Object, conditions []metav1.Condition) (changed bool, err error)
}

// Controller reconciles managed objects by their name on the bus.
type Controller struct {
	cfg Config

	mu      sync.Mutex
	written map[contract.Ref]string    // the resourceVersion before our last write
	waiting map[contract.Ref]time.Time // since when we wait for an observation that can be used
}

// New returns a controller that does nothing before [Controller.Register].
func New(cfg Config) *Controller {
	return &Controller{cfg: cfg, written: map[contract.Ref]string{}, waiting: map[contract.Ref]time.Time{}}
}

// steps is the reconcile as a table of contents.
func (c *Controller) steps() []steps.Step[object] {
	return []steps.Step[object]{
		{Name: "check permission", Run: c.guard},
		{Name: "load", Run: c.load},
		{Name: "replace incarnation", Run: c.replace},
		{Name: "fold", Run: c.fold},
		{Name: "publish phases", Run: c.phases},
		{Name: "record", Run: c.record},
		{Name: "publish events", Run: c.events},
		{Name: "write conditions", Run: c.write},
	}
}

// Reconcile brings one object up to date.
func (c *Controller) Reconcile(ctx context.Context, ref contract.Ref) (reconcile.Result, error) {
	s := &object{ref: ref, now: c.cfg.Clock.Now()}
	result, err := steps.Run(ctx, s, c.steps())
	s.finish(err)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: result.Requeue}, nil
}

// Register adds the controller to the manager, which runs it on the leader only.
func (c *Controller) Register(mgr manager.Manager) error {
	ctl, err := controller.NewTyped("status", mgr, controller.TypedOptions[contract.Ref]{
		Reconciler:              c,
		MaxConcurrentReconciles: c.cfg.Workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[contract.Ref](firstRetry, lastRetry),
	})
	if err != nil {
		return err
	}
	return ctl.Watch(c.cfg.Inbox.Source())
}

// lagging says that the cache still shows the object as it was before our last write.
func (c *Controller) lagging(ref contract.Ref, resourceVersion string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, wrote := c.written[ref]
	if wrote && before != resourceVersion {
		delete(c.written, ref)
	}
	return wrote && before == resourceVersion
}

func (c *Controller) wrote(ref contract.Ref, before string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written[ref] = before
}

// waitingSince notes the first time that an object was met of which nothing usable was heard.
func (c *Controller) waitingSince(ref contract.Ref, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.waiting[ref]
	if !ok {
		since = now
		c.waiting[ref] = since
	}
	return since
}

// StartOver waits anew for observations that can be used: what was waited for before a
// time in which we could not act says nothing.
func (c *Controller) StartOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.waiting)
}

func (c *Controller) heardOf(ref contract.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, ref)
}

func (c *Controller) forget(ref contract.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, ref)
	delete(c.written, ref)
}
