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

	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Config configures a [Reconciler].
type Config struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client    client.Client
	APIReader client.Reader
	// Recorder makes the events of a class.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// EngineIndex is the cache index that finds the engines of a class.
	EngineIndex string
}

// Reconciler reconciles classes.
type Reconciler struct {
	Config
	status  *ownedstatus.Writer
	written *mutationcache.Cache[*v1alpha1.FireboltEngineClass]
	trail   *steps.Tracer
	list    []steps.Step[reconcileState]
}

// New returns a Reconciler.
func New(d Config) *Reconciler {
	c := &Reconciler{
		Config:  d,
		status:  ownedstatus.New(d.Client, names.FieldManager, ownedstatus.WithConditions(status.ClassConditions()...)),
		written: mutationcache.New[*v1alpha1.FireboltEngineClass](d.Clock),
		trail:   steps.NewTracer("FireboltEngineClass", d.Clock),
	}
	c.list = []steps.Step[reconcileState]{
		{Name: "deletion", Run: c.reconcileDelete},
		{Name: "finalizer", Run: c.ensureFinalizer},
		{Name: "engines", Run: c.count},
		{Name: "template", Run: c.judge},
	}
	return c
}

// requeueStale is the delay of the next reconcile after a write that conflicted because of a stale cache.
const requeueStale = 250 * time.Millisecond

// reconcileState is the state that the steps of one reconcile share.
type reconcileState struct {
	class                 *v1alpha1.FireboltEngineClass
	engines               []string
	rejected, unsupported string
	gone                  bool // nothing of the class is ours any more
	stale                 bool // the API server has a newer version of the class
}

// Reconcile reconciles one object.
func (c *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &reconcileState{class: &v1alpha1.FireboltEngineClass{}}
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
		again = c.written.Record(p.class)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue has a time of its own then, and warns of another one
	}
	result.RequeueAfter = steps.MinRequeue(result.RequeueAfter, again)
	return result, nil
}

func (c *Reconciler) run(ctx context.Context, p *reconcileState) (ctrl.Result, error) {
	_, err := steps.Run(ctx, p, c.list)
	if err == nil && !p.gone {
		err = c.record(ctx, p)
	}
	select {
	case <-ctx.Done(): // shutting down; the next leader continues
		return ctrl.Result{}, nil
	default:
	}
	if errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, errStale) {
		p.stale = true
		return ctrl.Result{RequeueAfter: requeueStale}, nil
	}
	return ctrl.Result{}, err
}

// errStale means that the cache does not show the API server's state yet.
var errStale = errors.New("stale cache")

// record writes the status, and makes an event of what has changed in it.
func (c *Reconciler) record(ctx context.Context, p *reconcileState) error {
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
