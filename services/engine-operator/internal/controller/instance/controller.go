package instance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/uidtracker"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/statusevents"
)

// Reporter publishes observations and, in standalone mode, writes the conditions.
type Reporter interface {
	Report(ctx context.Context, cr client.Object, o contract.Observation) (time.Duration, error)
	Delete(object contract.Object)
}

// Config configures a [Reconciler].
type Config struct {
	// Client reads from the cache and writes; APIReader reads from the API server. Secrets are
	// read by APIReader only, one by one: no Secret is ever cached.
	Client    client.Client
	APIReader client.Reader
	Reporter  Reporter
	Recorder  events.EventRecorder
	Clock     clock.PassiveClock
	Images    render.Images
	// ListenAddress is the address at which metadata services and gateways listen, 0.0.0.0 or ::.
	ListenAddress netip.Addr
	// NewID generates the ULID of an instance, NewPassword the password of its own database.
	NewID, NewPassword func() (string, error)
}

// Reconciler reconciles instances.
type Reconciler struct {
	Config
	applier *apply.Applier
	status  *ownedstatus.Writer
	written *mutationcache.Cache[*v1alpha1.FireboltInstance]
	tracer  *steps.Tracer
	uids    *uidtracker.Tracker
	// creation determines why the database has no pod.
	creation *createfailure.Finder
}

// formerManager is the field manager of an earlier operator for writes with Update.
const formerManager = "manager"

// New returns a Reconciler.
func New(cfg Config) *Reconciler {
	r := &Reconciler{
		Config:  cfg,
		applier: apply.New(cfg.Client, names.FieldManager, apply.WithFormerManagers(formerManager)),
		status: ownedstatus.New(cfg.Client, names.FieldManager,
			ownedstatus.WithConditions(status.InstanceConditions()...), ownedstatus.WithoutConditions(status.ForeignConditions()...)),
		written: mutationcache.New[*v1alpha1.FireboltInstance](cfg.Clock),
		tracer:  steps.NewTracer("FireboltInstance", cfg.Clock),

		creation: createfailure.New(cfg.APIReader, cfg.Clock),
	}
	r.uids = uidtracker.New(r.forget)
	return r
}

// steps lists the steps of a reconcile in order.
func (r *Reconciler) steps() []steps.Step[reconcileState] {
	return []steps.Step[reconcileState]{
		{Name: "engines", Run: r.findEngines},
		{Name: "observe", Run: r.observe},
		{Name: "retain", When: mayLoseVolume, Run: r.retainVolume},
		{Name: "deletion", Run: r.reconcileDelete},
		{Name: "pause", Run: r.checkPause},
		{Name: "support", Run: r.checkSupport},
		{Name: "finalizer", Run: r.ensureFinalizer},
		{Name: "identity", Run: r.identify},
		{Name: "admission", Run: r.admit},
		{Name: "credentials", Run: r.checkCredentials},
		{Name: "database", Run: r.runDatabase},
		{Name: "metadata", Run: r.runMetadata},
		{Name: "gateway", Run: r.runGateway},
		{Name: "stop", Run: r.stopFailed},
	}
}

const (
	requeueVolume   = time.Second      // whether a volume is still retained
	requeueFailure  = 10 * time.Second // the cause may clear without a watch event
	requeuePods     = 5 * time.Second  // a pod ends without a watch event
	requeueTerminal = 30 * time.Second // the same, for a cause that a user must fix
)

// Reconcile reconciles one object.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &reconcileState{instance: &v1alpha1.FireboltInstance{}}
	requeueAfter, err := r.written.Read(ctx, r.Client, req.NamespacedName, s.instance)
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forgetName(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get instance %q: %w", req.Name, err)
	}
	r.track(s.instance)
	read := s.instance.ResourceVersion
	ctx, end := r.tracer.Start(ctx, s.instance)
	result, err := r.run(ctx, s)
	end(err)
	switch {
	case s.stale: // the write conflicted with a newer version
		r.written.Forget(req.NamespacedName)
	case s.instance.ResourceVersion != read:
		requeueAfter = r.written.Record(s.instance)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue applies its backoff then, and controller-runtime warns of a RequeueAfter
	}
	result.RequeueAfter = steps.MinRequeue(result.RequeueAfter, requeueAfter)
	return result, nil
}

func (r *Reconciler) run(ctx context.Context, s *reconcileState) (ctrl.Result, error) {
	result, err := steps.Run(ctx, s, r.steps())
	s.finish(result, err)
	err = errors.Join(append(s.errs, err)...)
	select {
	case <-ctx.Done(): // shutting down; the next leader continues
		return ctrl.Result{}, nil
	default:
	}
	after := time.Duration(0)
	if !s.deleted && s.observed && !isStale(err) {
		after, err = r.finish(ctx, s, err)
	}
	if isStale(err) {
		s.stale = true
		return ctrl.Result{RequeueAfter: steps.RequeueStale}, nil
	}
	if err == nil && !s.deleted {
		metrics.InstanceReconciled(client.ObjectKeyFromObject(s.instance), r.Clock.Now())
	}
	return ctrl.Result{RequeueAfter: steps.MinRequeue(result.Requeue, after)}, err
}

// finish writes the status and publishes the observation, also after a failure.
func (r *Reconciler) finish(ctx context.Context, s *reconcileState, failure error) (time.Duration, error) {
	outcome := s.outcome(failure)
	before := s.instance.DeepCopy()
	changed, err := r.status.Apply(ctx, s.instance, outcome.Next(r.Clock.Now()))
	if err != nil {
		return 0, errors.Join(failure, fmt.Errorf("write status: %w", err))
	}
	if changed {
		r.recordEvents(before, s.instance)
	}
	after, err := r.Reporter.Report(ctx, s.instance, observation.ForInstance(outcome, failure, r.Clock.Now()))
	if err != nil {
		return 0, errors.Join(failure, fmt.Errorf("report: %w", err))
	}
	return after, failure
}

// recordEvents emits the events of a status change after its write.
func (r *Reconciler) recordEvents(before, after *v1alpha1.FireboltInstance) {
	metrics.Instance(before, after)
	for _, e := range statusevents.Instance(before, after) {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(after, nil, kind, e.Reason, "Reconcile", "%s", e.Message)
	}
}

// isStale reports whether the decision must be made again from a newer object.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || apierrors.IsConflict(err)
}
