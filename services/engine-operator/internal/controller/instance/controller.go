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
	"github.com/flotilla-dev/flotilla/libs/kube/lastwritten"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/report"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Dependencies are what a [Controller] works with.
type Dependencies struct {
	// Client reads from the cache and writes; Live reads from the API server. Secrets are
	// read by Live only, one by one: no Secret is ever cached.
	Client   client.Client
	Live     client.Reader
	Reporter *standalone.Reporter
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Images   render.Images
	// EngineIndex is the cache index that finds the engines of an instance.
	EngineIndex string
	// NewID makes the ULID of an instance, NewPassword the password of its own database.
	NewID, NewPassword func() (string, error)
}

// Controller reconciles instances.
type Controller struct {
	Dependencies
	applier *apply.Applier
	status  *ownedstatus.Writer
	written *lastwritten.Memory[*v1.FireboltInstance]
	trail   *steps.Trail
	list    []steps.Step[pass]
	// creation finds out why the database has no pod.
	creation *createfailure.Finder
}

// formerManager is what an earlier operator wrote under, where it wrote with Update.
const formerManager = "manager"

// New returns a Controller.
func New(d Dependencies) *Controller {
	c := &Controller{
		Dependencies: d,
		applier:      apply.New(d.Client, names.FieldManager, apply.WithFormerManagers(formerManager)),
		status: ownedstatus.New(d.Client, names.FieldManager,
			ownedstatus.WithConditions(status.InstanceConditions()...), ownedstatus.WithoutConditions(status.ForeignConditions()...)),
		written: lastwritten.New[*v1.FireboltInstance](d.Clock),
		trail:   steps.NewTrail("FireboltInstance", d.Clock),

		creation: createfailure.New(d.Live, d.Clock),
	}
	c.list = []steps.Step[pass]{
		{Name: "engines", Run: c.findEngines},
		{Name: "deletion", Run: c.clean},
		{Name: "observe", Run: c.observe},
		{Name: "pause", Run: c.checkPause},
		{Name: "support", Run: c.checkSupport},
		{Name: "finalizer", Run: c.protect},
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
	retryStale    = 250 * time.Millisecond // a write met a newer object than the cache had
	retryTrouble  = 10 * time.Second       // something that no watch reports may be repaired
	retryTerminal = 30 * time.Second       // the same, where a person has to repair it
)

// Reconcile runs one pass.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{instance: &v1.FireboltInstance{}}
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
		again = c.written.Remember(p.instance)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue has a time of its own then, and warns of another one
	}
	result.RequeueAfter = steps.Sooner(result.RequeueAfter, again)
	return result, nil
}

func (c *Controller) run(ctx context.Context, p *pass) (ctrl.Result, error) {
	result, err := steps.Run(ctx, p, c.list)
	p.conclude(result, err)
	err = errors.Join(append(p.errs, err)...)
	select {
	case <-ctx.Done(): // shutting down; the next leader goes on
		return ctrl.Result{}, nil
	default:
	}
	after := time.Duration(0)
	if !p.gone && p.observed && !isStale(err) {
		after, err = c.finish(ctx, p, err)
	}
	if isStale(err) {
		p.stale = true
		return ctrl.Result{RequeueAfter: retryStale}, nil
	}
	if err == nil && !p.gone {
		metrics.InstanceReconciled(client.ObjectKeyFromObject(p.instance), c.Clock.Now())
	}
	return ctrl.Result{RequeueAfter: steps.Sooner(result.Requeue, after)}, err
}

// finish records and reports, also after a failure.
func (c *Controller) finish(ctx context.Context, p *pass, failure error) (time.Duration, error) {
	outcome := p.outcome(failure)
	before := p.instance.DeepCopy()
	changed, err := c.status.Apply(ctx, p.instance, outcome.Next(c.Clock.Now()))
	if err != nil {
		return 0, errors.Join(failure, fmt.Errorf("write status: %w", err))
	}
	if changed {
		c.announce(before, p.instance)
	}
	after, err := c.Reporter.Report(ctx, p.instance, outcome.Observation(failure))
	if err != nil {
		return 0, errors.Join(failure, fmt.Errorf("report: %w", err))
	}
	return after, failure
}

// announce tells of what a status write changed, once it is written.
func (c *Controller) announce(before, after *v1.FireboltInstance) {
	metrics.Instance(before, after, c.Clock.Now())
	for _, e := range report.Instance(before, after) {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		c.Recorder.Eventf(after, nil, kind, e.Reason, "Reconcile", "%s", e.Message)
	}
}

// isStale recognises decisions that have to be made again from a newer object.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || apierrors.IsConflict(err)
}
