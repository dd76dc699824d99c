package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/statusevents"
)

// Config configures a [Reconciler].
type Config struct {
	// Client reads from the cache and writes; Live reads from the API server. Secrets are
	// read by Live only, one by one: no Secret is ever cached.
	Client    client.Client
	APIReader client.Reader
	Reporter  *standalone.Reporter
	Recorder  events.EventRecorder
	Clock     clock.PassiveClock
	Images    render.Images
	// EngineIndex is the cache index that finds the engines of an instance.
	EngineIndex string
	// NewID makes the ULID of an instance, NewPassword the password of its own database.
	NewID, NewPassword func() (string, error)
}

// Reconciler reconciles instances.
type Reconciler struct {
	Config
	applier *apply.Applier
	status  *ownedstatus.Writer
	written *mutationcache.Cache[*v1alpha1.FireboltInstance]
	trail   *steps.Tracer
	list    []steps.Step[reconcileState]
	// creation finds out why the database has no pod.
	creation *createfailure.Finder
}

// formerManager is what an earlier operator wrote under, where it wrote with Update.
const formerManager = "manager"

// New returns a Reconciler.
func New(d Config) *Reconciler {
	c := &Reconciler{
		Config:  d,
		applier: apply.New(d.Client, names.FieldManager, apply.WithFormerManagers(formerManager)),
		status: ownedstatus.New(d.Client, names.FieldManager,
			ownedstatus.WithConditions(status.InstanceConditions()...), ownedstatus.WithoutConditions(status.ForeignConditions()...)),
		written: mutationcache.New[*v1alpha1.FireboltInstance](d.Clock),
		trail:   steps.NewTracer("FireboltInstance", d.Clock),

		creation: createfailure.New(d.APIReader, d.Clock),
	}
	c.list = []steps.Step[reconcileState]{
		{Name: "engines", Run: c.findEngines},
		{Name: "deletion", Run: c.reconcileDelete},
		{Name: "observe", Run: c.observe},
		{Name: "pause", Run: c.checkPause},
		{Name: "support", Run: c.checkSupport},
		{Name: "finalizer", Run: c.ensureFinalizer},
		{Name: "identity", Run: c.identify},
		{Name: "admission", Run: c.admit},
		{Name: "credentials", Run: c.checkCredentials},
		{Name: "database", Run: c.runDatabase},
		{Name: "metadata", Run: c.runMetadata},
		{Name: "gateway", Run: c.runGateway},
	}
	return c
}

const (
	requeueStale    = 250 * time.Millisecond // a write conflicted because of a stale cache
	requeueFailure  = 10 * time.Second       // a cause that no watch reports may be repaired
	requeueTerminal = 30 * time.Second       // the same, for a cause that a user must repair
)

// Reconcile reconciles one object.
func (c *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &reconcileState{instance: &v1alpha1.FireboltInstance{}}
	again, err := c.written.Read(ctx, c.Client, req.NamespacedName, p.instance)
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			c.trail.Forget(req.NamespacedName)
			c.written.Forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get instance %q: %w", req.Name, err)
	}
	read := p.instance.ResourceVersion
	ctx, end := c.trail.Begin(ctx, p.instance)
	result, err := c.run(ctx, p)
	end(err)
	switch {
	case p.stale: // the API server has another version than the one that was written
		c.written.Forget(req.NamespacedName)
	case p.instance.ResourceVersion != read:
		again = c.written.Record(p.instance)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue has a time of its own then, and warns of another one
	}
	result.RequeueAfter = steps.MinRequeue(result.RequeueAfter, again)
	return result, nil
}

func (c *Reconciler) run(ctx context.Context, p *reconcileState) (ctrl.Result, error) {
	result, err := steps.Run(ctx, p, c.list)
	p.conclude(result, err)
	err = errors.Join(append(p.errs, err)...)
	select {
	case <-ctx.Done(): // shutting down; the next leader continues
		return ctrl.Result{}, nil
	default:
	}
	after := time.Duration(0)
	if !p.gone && p.observed && !isStale(err) {
		after, err = c.finish(ctx, p, err)
	}
	if isStale(err) {
		p.stale = true
		return ctrl.Result{RequeueAfter: requeueStale}, nil
	}
	if err == nil && !p.gone {
		metrics.InstanceReconciled(client.ObjectKeyFromObject(p.instance), c.Clock.Now())
	}
	return ctrl.Result{RequeueAfter: steps.MinRequeue(result.Requeue, after)}, err
}

// finish records and reports, also after a failure.
func (c *Reconciler) finish(ctx context.Context, p *reconcileState, failure error) (time.Duration, error) {
	outcome := p.outcome(failure)
	before := p.instance.DeepCopy()
	changed, err := c.status.Apply(ctx, p.instance, outcome.Next(c.Clock.Now()))
	if err != nil {
		return 0, errors.Join(failure, fmt.Errorf("write status: %w", err))
	}
	if changed {
		c.recordEvents(before, p.instance)
	}
	after, err := c.Reporter.Report(ctx, p.instance, outcome.Observation(failure))
	if err != nil {
		return 0, errors.Join(failure, fmt.Errorf("report: %w", err))
	}
	return after, failure
}

// recordEvents emits the events of a status change after its write.
func (c *Reconciler) recordEvents(before, after *v1alpha1.FireboltInstance) {
	metrics.Instance(before, after, c.Clock.Now())
	for _, e := range statusevents.Instance(before, after) {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		c.Recorder.Eventf(after, nil, kind, e.Reason, "Reconcile", "%s", e.Message)
	}
}

// isStale reports whether the decision must be made again from a newer object.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || apierrors.IsConflict(err)
}
