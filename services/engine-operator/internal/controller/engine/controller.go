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
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// Config configures a [Reconciler].
type Config struct {
	// Client reads from the cache and writes; Live reads from the API server.
	Client    client.Client
	APIReader client.Reader
	Reporter  *standalone.Reporter
	Prober    *drain.Prober
	Recorder  events.EventRecorder
	Clock     clock.PassiveClock
	Images    render.Images
	// Events reads the Warning events of StatefulSets, from the API server.
	Events typedcorev1.EventsGetter
	// Bounds are the maximum resources of an engine container.
	Bounds validation.Bounds
	// MaxRollouts is how many engines at a time may be replaced without a change of their
	// own spec; zero means all.
	MaxRollouts int
}

// Reconciler reconciles engines.
type Reconciler struct {
	Config
	applier *apply.Applier
	status  *ownedstatus.Writer
	written *mutationcache.Cache[*v1alpha1.FireboltEngine]
	drains  *drain.Poller
	// turns, warnings and sets are state that a restart may lose.
	turns    *rolloutLimiter
	sets     *sets
	warnings *warningCache
	trail    *steps.Tracer
	list     []steps.Step[reconcileState]
}

// New returns a Reconciler.
func New(d Config) *Reconciler {
	c := &Reconciler{
		Config:  d,
		applier: apply.New(d.Client, names.FieldManager, apply.WithFormerManagers(formerManager)),
		status: ownedstatus.New(d.Client, names.FieldManager,
			ownedstatus.WithConditions(status.EngineConditions()...), ownedstatus.WithoutConditions(status.ForeignConditions()...)),
		written:  mutationcache.New[*v1alpha1.FireboltEngine](d.Clock),
		drains:   drain.NewPoller(d.Prober, d.Clock),
		turns:    newRolloutLimiter(d.MaxRollouts, d.Client, d.Clock),
		sets:     newSets(),
		warnings: &warningCache{of: map[types.UID]cachedWarning{}},
		trail:    steps.NewTracer("FireboltEngine", d.Clock),
	}
	c.list = []steps.Step[reconcileState]{
		{Name: "deletion", Run: c.reconcileDelete},
		{Name: "finalizer", Run: c.ensureFinalizer},
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

// requeueStale is the delay of the next reconcile after a write that conflicted because of a stale cache.
const requeueStale = 250 * time.Millisecond

// Reconcile reconciles one object.
func (c *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &reconcileState{engine: &v1alpha1.FireboltEngine{}}
	again, err := c.written.Read(ctx, c.Client, req.NamespacedName, p.engine)
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			c.trail.Forget(req.NamespacedName)
			c.written.Forget(req.NamespacedName)
			metrics.DeleteEngine(req.NamespacedName)
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
		again = c.written.Record(p.engine)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue has a time of its own then, and warns of another one
	}
	result.RequeueAfter = steps.MinRequeue(result.RequeueAfter, again)
	return result, nil
}

func (c *Reconciler) run(ctx context.Context, p *reconcileState) (ctrl.Result, error) {
	p.begin()
	result, err := steps.Run(ctx, p, c.list)
	select {
	case <-ctx.Done(): // shutting down; the next leader continues
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
		result.Requeue = steps.MinRequeue(result.Requeue, after)
	}
	if p.turn {
		c.turns.release(p.engine.UID)
	}
	if stale {
		p.stale = true
		return ctrl.Result{RequeueAfter: requeueStale}, nil
	}
	if err == nil {
		metrics.EngineReconciled(client.ObjectKeyFromObject(p.engine), c.Clock.Now())
	}
	return ctrl.Result{RequeueAfter: result.Requeue}, err
}

// finish records the decision of the reconcile and reports its observation, also after a failure.
// The report follows from the status as it was written.
func (c *Reconciler) finish(ctx context.Context, p *reconcileState, failure error) (after time.Duration, stale bool, err error) {
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
		c.recordEvents(before, p.engine)
		c.announceTaken(p)
	}
	if p.isTransitional() {
		return 0, false, failure
	}
	now := c.Clock.Now()
	after, err = c.Reporter.Report(ctx, p.engine, outcome.Observation(p.children, p.applied(), failure, now))
	after = steps.MinRequeue(after, workload.UntilProbesDue(now, maps.Values(p.children.Pods)))
	if isStale(err) {
		return 0, true, nil
	}
	if err != nil {
		err = fmt.Errorf("report: %w", err)
	}
	return after, false, errors.Join(failure, err)
}

// refusal returns the warning for an API error that no retry clears; it is empty for other errors.
func refusal(err error) status.Warning {
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || errors.Is(err, apply.ErrNotOwned) {
		// A quota or a policy may change; a bad object, and one of another owner, stay until a user changes them.
		foreign := errors.Is(err, apply.ErrNotOwned)
		out := status.Warning{Reason: v1alpha1.ReasonApplyRefused, Message: err.Error(), Terminal: foreign || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)}
		if foreign {
			out.Message += ". Delete or rename the object that is in the way."
		}
		out.Message = status.Clamp(out.Message)
		return out
	}
	return status.Warning{}
}

// isStale reports whether the decision must be made again from a newer object.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || errors.Is(err, errStale)
}

// errStale means that the cache does not show the API server's state yet.
var errStale = errors.New("stale cache")
