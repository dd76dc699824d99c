package class

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/lastwritten"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Dependencies are what a [Controller] works with.
type Dependencies struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Recorder makes the events of a class.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// EngineIndex is the cache index that finds the engines of a class.
	EngineIndex string
}

// Controller reconciles classes.
type Controller struct {
	Dependencies
	status  *ownedstatus.Writer
	written *lastwritten.Memory[*v1.FireboltEngineClass]
	trail   *steps.Trail
	list    []steps.Step[pass]
}

// New returns a Controller.
func New(d Dependencies) *Controller {
	c := &Controller{
		Dependencies: d,
		status:       ownedstatus.New(d.Client, names.FieldManager, ownedstatus.WithConditions(status.ClassConditions()...)),
		written:      lastwritten.New[*v1.FireboltEngineClass](d.Clock),
		trail:        steps.NewTrail("FireboltEngineClass", d.Clock),
	}
	c.list = []steps.Step[pass]{
		{Name: "deletion", Run: c.release},
		{Name: "finalizer", Run: c.protect},
		{Name: "engines", Run: c.count},
		{Name: "template", Run: c.judge},
	}
	return c
}

// retryStale is when to look again after a write met a newer object than the cache had.
const retryStale = 250 * time.Millisecond

// pass is the state that the steps of one reconcile share.
type pass struct {
	class                 *v1.FireboltEngineClass
	engines               []string
	rejected, unsupported string
	gone                  bool // nothing of the class is ours any more
	stale                 bool // the API server has a newer version of the class
}

// Reconcile runs one pass.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{class: &v1.FireboltEngineClass{}}
	again, err := c.written.Read(ctx, c.Client, req.NamespacedName, p.class)
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			c.trail.Forget(req.NamespacedName)
			c.written.Forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get class %q: %w", req.Name, err)
	}
	read := p.class.ResourceVersion
	ctx, end := c.trail.Begin(ctx, p.class)
	result, err := c.run(ctx, p)
	end(err)
	switch {
	case p.stale: // the API server has another version than the one that was written
		c.written.Forget(req.NamespacedName)
	case p.class.ResourceVersion != read:
		again = c.written.Remember(p.class)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue has a time of its own then, and warns of another one
	}
	result.RequeueAfter = steps.Sooner(result.RequeueAfter, again)
	return result, nil
}

func (c *Controller) run(ctx context.Context, p *pass) (ctrl.Result, error) {
	_, err := steps.Run(ctx, p, c.list)
	if err == nil && !p.gone {
		err = c.record(ctx, p)
	}
	select {
	case <-ctx.Done(): // shutting down; the next leader goes on
		return ctrl.Result{}, nil
	default:
	}
	if errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, errOutdated) {
		p.stale = true
		return ctrl.Result{RequeueAfter: retryStale}, nil
	}
	return ctrl.Result{}, err
}

// errOutdated says that the cache does not yet show what the API server holds.
var errOutdated = errors.New("the cache is behind the API server")

// record writes the status, and makes an event of what has changed in it.
func (c *Controller) record(ctx context.Context, p *pass) error {
	outcome := status.Class{Object: p.class, Engines: p.engines, Rejected: p.rejected, Unsupported: p.unsupported}
	next := outcome.Next(c.Clock.Now())
	reason, message := outcome.Event(next)
	changed, err := c.status.Apply(ctx, p.class, next)
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if changed && reason != "" {
		c.Recorder.Eventf(p.class, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
	}
	return nil
}
