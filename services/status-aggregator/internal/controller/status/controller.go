package status

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
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
	Watcher *watch.Watcher
	History *history.Store
	Writer  *ownedstatus.Writer
	Inbox   *Inbox
	// Permitted says whether this process may act: it leads, hears the bus and holds
	// the Lease. Whoever makes it true announces all objects.
	Permitted func() bool
	Clock     clock.PassiveClock
	Metrics   *metrics.Metrics
	Workers   int
}

// Controller reconciles managed objects by their name on the bus.
type Controller struct {
	cfg Config

	mu      sync.Mutex
	written map[contract.Ref]string    // the resourceVersion before our last write
	unheard map[contract.Ref]time.Time // since when we wait for a first observation
}

// New returns a controller that does nothing before [Controller.Register].
func New(cfg Config) *Controller {
	return &Controller{cfg: cfg, written: map[contract.Ref]string{}, unheard: map[contract.Ref]time.Time{}}
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

// waitingSince notes the first time that an object was met of which nothing was heard.
func (c *Controller) waitingSince(ref contract.Ref, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.unheard[ref]
	if !ok {
		since = now
		c.unheard[ref] = since
	}
	return since
}

func (c *Controller) heardOf(ref contract.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unheard, ref)
}

func (c *Controller) forget(ref contract.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unheard, ref)
	delete(c.written, ref)
}
