package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/lastwritten"
	kubeobserve "github.com/flotilla-dev/flotilla/libs/kube/observe"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/admit"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Dependencies are what a [Controller] works with.
type Dependencies struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client   client.Client
	Live     client.Reader
	Reporter *standalone.Reporter
	Prober   *drain.Prober
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Images   render.Images
	// Events reads the Warning events of StatefulSets, from the API server.
	Events typedcorev1.EventsGetter
	// Bounds are the most that an engine container may ask for.
	Bounds admit.Bounds
	// MaxRollouts is how many engines at a time may be replaced without a change of their
	// own spec; zero means all.
	MaxRollouts int
}

// Controller reconciles engines.
type Controller struct {
	Dependencies
	applier *apply.Applier
	status  *ownedstatus.Writer
	written *lastwritten.Memory[*v1.FireboltEngine]
	drains  *drain.Watch
	// turns, warnings and sets are memories that a restart may lose.
	turns    *turns
	sets     *sets
	warnings *warnings
	trail    *steps.Trail
	list     []steps.Step[pass]
}

// New returns a Controller.
func New(d Dependencies) *Controller {
	c := &Controller{
		Dependencies: d,
		applier:      apply.New(d.Client, names.FieldManager, apply.WithFormerManagers(formerManager)),
		status: ownedstatus.New(d.Client, names.FieldManager,
			ownedstatus.WithConditions(status.EngineConditions()...), ownedstatus.WithoutConditions(status.ForeignConditions()...)),
		written:  lastwritten.New[*v1.FireboltEngine](d.Clock),
		drains:   drain.NewWatch(d.Prober, d.Clock),
		turns:    newTurns(d.MaxRollouts, d.Client, d.Clock),
		sets:     newSets(),
		warnings: &warnings{of: map[types.UID]heard{}},
		trail:    steps.NewTrail("FireboltEngine", d.Clock),
	}
	c.list = []steps.Step[pass]{
		{Name: "deletion", Run: c.clean},
		{Name: "finalizer", Run: c.protect},
		{Name: "observe", Run: c.observe},
		{Name: "class", Run: c.resolveClass},
		{Name: "instance", Run: c.resolveInstance},
		{Name: "admission", Run: c.admit},
		{Name: "render", Run: c.render},
		{Name: "adoption", Run: c.adopt},
		{Name: "drain check", Run: c.checkDrain},
		{Name: "decide", Run: c.decide},
		{Name: "warnings", Run: c.warn},
		{Name: "write", Run: c.write},
	}
	return c
}

// formerManager is what an earlier operator wrote statuses under.
const formerManager = "manager"

// retryStale is when to look again after a write met a newer object than the cache had.
const retryStale = 250 * time.Millisecond

// Reconcile runs one pass.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{engine: &v1.FireboltEngine{}}
	again, err := c.written.Read(ctx, c.Client, req.NamespacedName, p.engine)
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			c.trail.Forget(req.NamespacedName)
			c.written.Forget(req.NamespacedName)
			metrics.EngineGone(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get engine %q: %w", req.Name, err)
	}
	read := p.engine.ResourceVersion
	ctx, end := c.trail.Begin(ctx, p.engine)
	result, err := c.run(ctx, p)
	end(err)
	switch {
	case p.stale: // the API server has another version than the one that was written
		c.written.Forget(req.NamespacedName)
	case p.engine.ResourceVersion != read:
		again = c.written.Remember(p.engine)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue has a time of its own then, and warns of another one
	}
	result.RequeueAfter = steps.Sooner(result.RequeueAfter, again)
	return result, nil
}

func (c *Controller) run(ctx context.Context, p *pass) (ctrl.Result, error) {
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
	if p.turn {
		c.turns.giveBack(p.engine.UID)
	}
	if stale {
		p.stale = true
		return ctrl.Result{RequeueAfter: retryStale}, nil
	}
	if err == nil {
		metrics.EngineReconciled(client.ObjectKeyFromObject(p.engine), c.Clock.Now())
	}
	return ctrl.Result{RequeueAfter: result.Requeue}, err
}

// finish records what the pass decided and reports what it saw, also after a failure.
// The report follows from the status as it was written.
func (c *Controller) finish(ctx context.Context, p *pass, failure error) (after time.Duration, stale bool, err error) {
	if failure != nil {
		p.abandon()
		p.warning = refusal(failure)
	}
	outcome := p.outcome()
	before := p.engine.DeepCopy()
	changed, err := c.status.Apply(ctx, p.engine, outcome.Next(c.Clock.Now()))
	if err != nil {
		return 0, isStale(err), errors.Join(failure, fmt.Errorf("write status: %w", err))
	}
	p.turn = p.turn && failure != nil // recorded: the status says it now
	if changed {
		c.announce(before, p.engine)
		c.announceTaken(p)
	}
	if p.passing() {
		return 0, false, failure
	}
	now := c.Clock.Now()
	after, err = c.Reporter.Report(ctx, p.engine, outcome.Observation(p.children, p.applied(), failure, now))
	after = steps.Sooner(after, kubeobserve.UntilProbesDue(now, maps.Values(p.children.Pods)))
	if isStale(err) {
		return 0, true, nil
	}
	if err != nil {
		err = fmt.Errorf("report: %w", err)
	}
	return after, false, errors.Join(failure, err)
}

// refusal words an answer of the API server that no retry changes; other failures pass.
func refusal(err error) status.Warning {
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || errors.Is(err, apply.ErrNotOwned) {
		// A quota or a policy may change; a bad object, and one of another owner, stay until a person changes them.
		foreign := errors.Is(err, apply.ErrNotOwned)
		out := status.Warning{Reason: v1.ReasonApplyRefused, Message: err.Error(), Terminal: foreign || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)}
		if foreign {
			out.Message += ". Delete or rename the object that is in the way."
		}
		out.Message = status.Clamp(out.Message)
		return out
	}
	return status.Warning{}
}

// isStale recognises decisions that have to be made again from a newer object.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || errors.Is(err, errOutdated)
}

// errOutdated says that the cache does not yet show what the API server holds.
var errOutdated = errors.New("the cache is behind the API server")
