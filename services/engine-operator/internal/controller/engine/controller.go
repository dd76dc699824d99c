package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/uidtracker"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/engine/lastset"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/engine/throttle"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/controller/engine/warnings"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// Reporter publishes observations and, in standalone mode, writes the conditions.
type Reporter interface {
	Report(ctx context.Context, cr client.Object, o contract.Observation) (time.Duration, error)
	Delete(object contract.Object)
}

// Config configures a [Reconciler].
type Config struct {
	// Client reads from the cache and writes; APIReader reads from the API server.
	Client    client.Client
	APIReader client.Reader
	Reporter  Reporter
	Prober    *drain.Prober
	Recorder  events.EventRecorder
	Clock     clock.PassiveClock
	Images    render.Images
	// Events reads the Warning events of StatefulSets, from the API server.
	Events typedcorev1.EventsGetter
	// Bounds are the maximum resources of an engine container.
	Bounds validation.Bounds
	// MaxRollouts is the maximum number of concurrent rollouts without a change of the engine's own
	// spec; zero means unlimited.
	MaxRollouts int
}

// Reconciler reconciles engines.
type Reconciler struct {
	Config
	applier *apply.Applier
	status  *ownedstatus.Writer
	written *mutationcache.Cache[*v1alpha1.FireboltEngine]
	drains  *drain.Poller
	// limiter, sets, warnings and uids are state that a restart may lose.
	limiter  *throttle.Limiter
	sets     *lastset.Cache
	warnings *warnings.Reader
	uids     *uidtracker.Tracker
	tracer   *steps.Tracer
}

// New returns a Reconciler.
func New(cfg Config) *Reconciler {
	r := &Reconciler{
		Config:  cfg,
		applier: apply.New(cfg.Client, names.FieldManager, apply.WithFormerManagers(formerManager)),
		status: ownedstatus.New(cfg.Client, names.FieldManager,
			ownedstatus.WithConditions(status.EngineConditions()...), ownedstatus.WithoutConditions(status.ForeignConditions()...)),
		written:  mutationcache.New[*v1alpha1.FireboltEngine](cfg.Clock),
		drains:   drain.NewPoller(cfg.Prober, cfg.Clock),
		limiter:  throttle.New(cfg.MaxRollouts, cfg.Client, cfg.Clock),
		sets:     lastset.New(),
		warnings: warnings.New(cfg.Events, cfg.Clock),
		tracer:   steps.NewTracer("FireboltEngine", cfg.Clock),
	}
	r.uids = uidtracker.New(r.forget)
	return r
}

// steps lists the steps of a reconcile in order.
func (r *Reconciler) steps() []steps.Step[reconcileState] {
	return []steps.Step[reconcileState]{
		{Name: "deletion", Run: r.reconcileDelete},
		{Name: "finalizer", Run: r.ensureFinalizer},
		{Name: "observe", Run: r.observe},
		{Name: "class", Run: r.resolveClass},
		{Name: "instance", Run: r.resolveInstance},
		{Name: "admission", Run: r.admit},
		{Name: "render", Run: r.render},
		{Name: "adoption", Run: r.adopt},
		{Name: "drain check", Run: r.checkDrain},
		{Name: "decide", Run: r.decide},
		{Name: "warnings", Run: r.readWarnings},
		{Name: "write", Run: r.write},
	}
}

// formerManager is the field manager of the statuses of an earlier operator.
const formerManager = "manager"

// Reconcile reconciles one object.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &reconcileState{engine: &v1alpha1.FireboltEngine{}}
	requeueAfter, err := r.written.Read(ctx, r.Client, req.NamespacedName, s.engine)
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.forgetName(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get engine %q: %w", req.Name, err)
	}
	r.track(s.engine)
	read := s.engine.ResourceVersion
	ctx, end := r.tracer.Start(ctx, s.engine)
	result, err := r.run(ctx, s)
	end(err)
	switch {
	case s.stale: // the write conflicted with a newer version
		r.written.Forget(req.NamespacedName)
	case s.engine.ResourceVersion != read:
		requeueAfter = r.written.Record(s.engine)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue applies its backoff then, and controller-runtime warns of a RequeueAfter
	}
	result.RequeueAfter = steps.MinRequeue(result.RequeueAfter, requeueAfter)
	return result, nil
}

func (r *Reconciler) run(ctx context.Context, s *reconcileState) (ctrl.Result, error) {
	s.start()
	result, err := steps.Run(ctx, s, r.steps())
	select {
	case <-ctx.Done(): // shutting down; the next leader continues
		return ctrl.Result{}, nil
	default:
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) { // the engine is deleted with its namespace
		s.abandon()
		result.Requeue, err = engine.RequeueWait, nil
	}
	stale := isStale(err)
	if !stale {
		if s.deleted || (err != nil && !s.observed) {
			return ctrl.Result{}, err
		}
		var after time.Duration
		after, stale, err = r.finish(ctx, s, err)
		result.Requeue = steps.MinRequeue(result.Requeue, after)
	}
	if s.newSlot {
		r.limiter.Release(s.engine.UID)
	}
	if stale {
		s.stale = true
		return ctrl.Result{RequeueAfter: steps.RequeueStale}, nil
	}
	if err == nil {
		metrics.EngineReconciled(client.ObjectKeyFromObject(s.engine), r.Clock.Now())
	}
	return ctrl.Result{RequeueAfter: result.Requeue}, err
}

// finish writes the status and publishes the observation, also after a failure.
// The observation is computed from the written status.
func (r *Reconciler) finish(ctx context.Context, s *reconcileState, failure error) (after time.Duration, stale bool, err error) {
	if failure != nil {
		s.fail(failure)
	}
	outcome := s.outcome()
	before := s.engine.DeepCopy()
	changed, err := r.status.Apply(ctx, s.engine, outcome.Next(r.Clock.Now()))
	if err != nil {
		return 0, isStale(err), errors.Join(failure, fmt.Errorf("write status: %w", err))
	}
	s.newSlot = s.newSlot && !s.decided // otherwise the status records it
	if changed {
		r.recordEvents(before, s.engine)
		r.recordDecision(before, s)
	}
	if s.isTransitional() {
		return 0, false, failure
	}
	now := r.Clock.Now()
	after, err = r.Reporter.Report(ctx, s.engine, observation.ForEngine(outcome, s.children, s.applied(), failure, now))
	after = steps.MinRequeue(after, workload.UntilProbesDue(now, maps.Values(s.children.Pods)))
	if isStale(err) {
		return 0, true, nil
	}
	if err != nil {
		err = fmt.Errorf("report: %w", err)
	}
	return after, false, errors.Join(failure, err)
}

// isStale reports whether the decision must be made again from a newer object.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || errors.Is(err, errStale) || apierrors.IsConflict(err)
}

// errStale means that the cache does not show the API server's state yet.
var errStale = errors.New("stale cache")
