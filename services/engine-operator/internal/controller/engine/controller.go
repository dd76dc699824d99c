package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// Dependencies are what a [Controller] works with.
type Dependencies struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client   client.Client
	Live     client.Reader
	Reporter *standalone.Reporter
	Prober   *drain.Prober
	Clock    clock.PassiveClock
	Images   render.Images
}

// Controller reconciles engines.
type Controller struct {
	Dependencies
	applier *apply.Applier
	status  *ownedstatus.Writer
	drains  *drainMemory
	list    []steps.Step[pass]
}

// New returns a Controller.
func New(d Dependencies) *Controller {
	c := &Controller{
		Dependencies: d,
		applier:      apply.New(d.Client, names.FieldManager),
		status:       ownedstatus.New(d.Client, names.FieldManager),
		drains:       &drainMemory{of: map[types.UID]drain.Memory{}},
	}
	c.list = []steps.Step[pass]{
		{Name: "deletion", Run: c.clean},
		{Name: "finalizer", Run: c.protect},
		{Name: "observe", Run: c.observe},
		{Name: "class", Run: c.resolveClass},
		{Name: "instance", Run: c.resolveInstance},
		{Name: "render", Run: c.render},
		{Name: "drain check", Run: c.checkDrain},
		{Name: "decide", Run: c.decide},
		{Name: "write", Run: c.write},
	}
	return c
}

// retryStale is when to look again after a write met a newer object than the cache had.
const retryStale = 250 * time.Millisecond

// Reconcile runs one pass.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{engine: &v1.FireboltEngine{}}
	if err := c.Client.Get(ctx, req.NamespacedName, p.engine); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get engine %q: %w", req.Name, err)
	}
	p.begin()
	result, err := steps.Run(ctx, p, c.list)
	select {
	case <-ctx.Done(): // shutting down; the next leader goes on
		return ctrl.Result{}, nil
	default:
	}
	if p.gone || (err != nil && !p.observed) {
		return ctrl.Result{}, err
	}
	stale := isStale(err)
	if !stale {
		var after time.Duration
		after, stale, err = c.finish(ctx, p, err)
		result.Requeue = steps.Sooner(result.Requeue, after)
	}
	if stale {
		return ctrl.Result{RequeueAfter: retryStale}, nil
	}
	return ctrl.Result{RequeueAfter: result.Requeue}, err
}

// finish records what the pass decided and reports what it saw, also after a failure.
// The report follows from the status as it was written.
func (c *Controller) finish(ctx context.Context, p *pass, failure error) (after time.Duration, stale bool, err error) {
	if failure != nil {
		p.abandon()
	}
	outcome := p.outcome()
	if _, err := c.status.Apply(ctx, p.engine, outcome.Next(c.Clock.Now())); err != nil {
		return 0, isStale(err), errors.Join(failure, fmt.Errorf("write status: %w", err))
	}
	after, err = c.Reporter.Report(ctx, p.engine, outcome.Observation(p.children, p.applied(), failure))
	if isStale(err) {
		return 0, true, nil
	}
	if err != nil {
		err = fmt.Errorf("report: %w", err)
	}
	return after, false, errors.Join(failure, err)
}

// isStale recognises decisions that have to be made again from a newer object.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || errors.Is(err, errOutdated)
}

// errOutdated says that the cache does not yet show what the API server holds.
var errOutdated = errors.New("the cache is behind the API server")
