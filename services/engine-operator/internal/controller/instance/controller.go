package instance

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Dependencies are what a [Controller] works with.
type Dependencies struct {
	// Client reads from the cache and writes; Live reads from the API server. Secrets are
	// read by Live only, one by one: no Secret is ever cached.
	Client   client.Client
	Live     client.Reader
	Reporter *standalone.Reporter
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
	list    []steps.Step[pass]
}

// New returns a Controller.
func New(d Dependencies) *Controller {
	c := &Controller{
		Dependencies: d,
		applier:      apply.New(d.Client, names.FieldManager),
		status:       ownedstatus.New(d.Client, names.FieldManager),
	}
	c.list = []steps.Step[pass]{
		{Name: "engines", Run: c.findEngines},
		{Name: "deletion", Run: c.clean},
		{Name: "finalizer", Run: c.protect},
		{Name: "observe", Run: c.observe},
		{Name: "support", Run: c.checkSupport},
		{Name: "identity", Run: c.identify},
		{Name: "credentials", Run: c.checkCredentials},
		{Name: "database", Run: c.runDatabase},
		{Name: "metadata", Run: c.runMetadata},
	}
	return c
}

const (
	retryStale   = 250 * time.Millisecond // a write met a newer object than the cache had
	retryTrouble = 10 * time.Second       // something that no watch reports may be repaired
)

// pass is the state that the steps of one reconcile share.
type pass struct {
	instance *v1.FireboltInstance
	engines  v1.FireboltEngineList
	gone     bool
	observed bool

	metadata *appsv1.Deployment
	postgres *appsv1.StatefulSet
	replicas int32

	reason, trouble string
	unsupported     string
	applied         bool
}

// Reconcile runs one pass.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &pass{instance: &v1.FireboltInstance{}, replicas: 1}
	if err := c.Client.Get(ctx, req.NamespacedName, p.instance); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get instance %q: %w", req.Name, err)
	}
	result, err := steps.Run(ctx, p, c.list)
	select {
	case <-ctx.Done(): // shutting down; the next leader goes on
		return ctrl.Result{}, nil
	default:
	}
	if p.gone || (err != nil && !p.observed) {
		return ctrl.Result{}, err
	}
	after, err := c.finish(ctx, p, err)
	if isStale(err) {
		return ctrl.Result{RequeueAfter: retryStale}, nil
	}
	return ctrl.Result{RequeueAfter: steps.Sooner(result.Requeue, after)}, err
}

// finish records and reports, also after a failure.
func (c *Controller) finish(ctx context.Context, p *pass, failure error) (time.Duration, error) {
	if isStale(failure) {
		return 0, failure
	}
	if failure != nil && p.trouble == "" {
		p.reason, p.trouble = v1.ReasonEnsureFailed, failure.Error()
	}
	outcome := status.Instance{
		Object: p.instance, Metadata: p.metadata, Postgres: p.postgres, Replicas: p.replicas,
		TroubleReason: p.reason, Trouble: p.trouble, Unsupported: p.unsupported, Applied: p.applied && failure == nil,
	}
	if _, err := c.status.Apply(ctx, p.instance, outcome.Next(c.Clock.Now())); err != nil {
		return 0, errors.Join(failure, fmt.Errorf("write status: %w", err))
	}
	after, err := c.Reporter.Report(ctx, p.instance, outcome.Observation(failure))
	if err != nil {
		return 0, errors.Join(failure, fmt.Errorf("report: %w", err))
	}
	return after, failure
}

func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale)
}
