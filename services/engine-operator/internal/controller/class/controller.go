package class

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// Client reads from the cache and writes; APIReader reads from the API server.
	Client    client.Client
	APIReader client.Reader
	// Recorder emits the events of a class.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// Reconciler reconciles classes.
type Reconciler struct {
	Config
	status  *ownedstatus.Writer
	written *mutationcache.Cache[*v1alpha1.FireboltEngineClass]
	tracer  *steps.Tracer
}

// New returns a Reconciler.
func New(cfg Config) *Reconciler {
	return &Reconciler{
		Config:  cfg,
		status:  ownedstatus.New(cfg.Client, names.FieldManager, ownedstatus.WithConditions(status.ClassConditions()...)),
		written: mutationcache.New[*v1alpha1.FireboltEngineClass](cfg.Clock),
		tracer:  steps.NewTracer("FireboltEngineClass", cfg.Clock),
	}
}

// steps lists the steps of a reconcile in order.
func (r *Reconciler) steps() []steps.Step[reconcileState] {
	return []steps.Step[reconcileState]{
		{Name: "deletion", Run: r.reconcileDelete},
		{Name: "finalizer", Run: r.ensureFinalizer},
		{Name: "engines", Run: r.countEngines},
		{Name: "template", Run: r.validate},
	}
}

// reconcileState is the state that the steps of one reconcile share.
type reconcileState struct {
	class                 *v1alpha1.FireboltEngineClass
	engines               []string
	rejected, unsupported string
	deleted               bool // our finalizer was removed
	stale                 bool // the API server has a newer version of the class
}

// Reconcile reconciles one object.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &reconcileState{class: &v1alpha1.FireboltEngineClass{}}
	requeueAfter, err := r.written.Read(ctx, r.Client, req.NamespacedName, s.class)
	if err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.tracer.Forget(req.NamespacedName)
			r.written.Forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get class %q: %w", req.Name, err)
	}
	read := s.class.ResourceVersion
	ctx, end := r.tracer.Start(ctx, s.class)
	result, err := r.run(ctx, s)
	end(err)
	switch {
	case s.stale: // the write conflicted with a newer version
		r.written.Forget(req.NamespacedName)
	case s.class.ResourceVersion != read:
		requeueAfter = r.written.Record(s.class)
	}
	if err != nil {
		return ctrl.Result{}, err // the queue applies its backoff then, and controller-runtime warns of a RequeueAfter
	}
	result.RequeueAfter = steps.MinRequeue(result.RequeueAfter, requeueAfter)
	return result, nil
}

func (r *Reconciler) run(ctx context.Context, s *reconcileState) (ctrl.Result, error) {
	_, err := steps.Run(ctx, s, r.steps())
	if err == nil && !s.deleted {
		err = r.record(ctx, s)
	}
	select {
	case <-ctx.Done(): // shutting down; the next leader continues
		return ctrl.Result{}, nil
	default:
	}
	if isStale(err) {
		s.stale = true
		return ctrl.Result{RequeueAfter: steps.RequeueStale}, nil
	}
	return ctrl.Result{}, err
}

// isStale reports whether the decision must be made again from a newer object.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, errStale) || apierrors.IsConflict(err)
}

// errStale means that the cache does not show the API server's state yet.
var errStale = errors.New("stale cache")

// record writes the status, and emits an event if it has changed.
func (r *Reconciler) record(ctx context.Context, s *reconcileState) error {
	outcome := status.Class{Object: s.class, Engines: s.engines, Rejected: s.rejected, Unsupported: s.unsupported}
	next := outcome.Next(r.Clock.Now())
	reason, message := outcome.Event(next)
	changed, err := r.status.Apply(ctx, s.class, next)
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if changed && reason != "" {
		r.Recorder.Eventf(s.class, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
	}
	return nil
}
