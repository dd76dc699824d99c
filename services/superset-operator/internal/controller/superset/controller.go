package superset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/uidtracker"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/controller/superset/trackers"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

// Reporter publishes observations and, in standalone mode, writes the conditions of flotilla-conditions.
type Reporter interface {
	Report(ctx context.Context, cr client.Object, o contract.Observation) (time.Duration, error)
	Delete(object contract.Object)
}

// Config configures a [Reconciler].
type Config struct {
	// Client reads from the cache, which has the index observe.ParentIndex, and writes; APIReader reads from the API
	// server.
	Client    client.Client
	APIReader client.Reader
	Reporter  Reporter
	Recorder  events.EventRecorder
	Clock     clock.PassiveClock
	// Namespaces limit the cache of Client; empty means all.
	Namespaces []string
	// IPv6 reports whether pods have IPv6 addresses.
	IPv6 bool
}

// Reconciler reconciles Supersets.
type Reconciler struct {
	Config
	applier *apply.Applier
	status  *ownedstatus.Writer
	written *mutationcache.Cache[*v1alpha1.Superset]
	tracer  *steps.Tracer
	// creation finds the reason why a Job has no pod.
	creation *createfailure.Finder
	optional optionals
	// errors and uids are in memory only: losing them in a restart is safe.
	errors *trackers.Errors
	uids   *uidtracker.Tracker
	// details limits the writes of changed details.
	details *coalesce.Details[types.UID]
}

// New returns a Reconciler.
func New(cfg Config) *Reconciler {
	r := &Reconciler{
		Config:  cfg,
		applier: apply.New(cfg.Client, names.FieldManager, apply.WithFormerManagers(names.FormerManager)),
		status: ownedstatus.New(cfg.Client, names.FieldManager,
			ownedstatus.WithConditions(status.Conditions()...), ownedstatus.WithoutConditions(conditions.Types()...)),
		written:  mutationcache.New[*v1alpha1.Superset](cfg.Clock),
		tracer:   steps.NewTracer(v1alpha1.Kind, cfg.Clock),
		creation: createfailure.New(cfg.APIReader, cfg.Clock),
		optional: optionals{missing: trackers.NewMissingKinds()},
		errors:   trackers.NewErrors(),
		details:  coalesce.New[types.UID](cfg.Clock),
	}
	r.uids = uidtracker.New(r.forget)
	return r
}

// Reconcile reconciles one Superset.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sup := &v1alpha1.Superset{}
	requeueAfter, err := r.written.Read(ctx, r.Client, req.NamespacedName, sup)
	if apierrors.IsNotFound(err) {
		r.reconcileDelete(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("get superset %q: %w", req.NamespacedName, err)
	}
	s := &reconcileState{sup: sup, rereadAfter: requeueAfter, generations: map[string]int64{}}
	ctx, end := r.tracer.Start(ctx, s.sup)
	result, err := r.run(ctx, s)
	end(err)
	return result, err
}

func (r *Reconciler) run(ctx context.Context, s *reconcileState) (ctrl.Result, error) {
	read := s.sup.ResourceVersion
	result, err := steps.Run(ctx, s, r.steps())
	select {
	case <-ctx.Done(): // shutting down, which is not an error of the Superset; the next leader continues
		return ctrl.Result{}, nil
	default:
	}
	complete := err == nil
	err = s.failure(err)
	if !isStale(err) {
		writeErr := r.persistOutcome(ctx, s, err)
		complete, err = complete && writeErr == nil, join(err, writeErr)
	}
	if isStale(err) {
		r.written.Forget(client.ObjectKeyFromObject(s.sup))
		return ctrl.Result{RequeueAfter: steps.RequeueStale}, nil
	}
	r.emitError(s.sup, err)
	after, reportErr := r.report(ctx, s, err)
	if s.sup.ResourceVersion != read {
		s.rereadAfter = r.written.Record(s.sup)
	}
	if isStale(reportErr) {
		r.written.Forget(client.ObjectKeyFromObject(s.sup))
		after, reportErr = steps.RequeueStale, nil
	}
	after = steps.MinRequeue(after, s.rereadAfter)
	if reportErr != nil || err != nil && !complete {
		return ctrl.Result{}, join(err, reportErr)
	}
	// Tolerated failures delay nothing that the rest of the reconcile waits for.
	return ctrl.Result{RequeueAfter: steps.MinRequeue(result.Requeue, after)}, err
}

// reconcileDelete forgets a deleted Superset and publishes its deletion. Its children are garbage-collected by their
// owner references.
func (r *Reconciler) reconcileDelete(key types.NamespacedName) {
	r.written.Forget(key)
	r.errors.Forget(key)
	r.tracer.Forget(key)
	r.optional.missing.Forget(key)
	r.uids.Remove(key)
}

// forget drops the state of a deleted Superset that is kept by its UID, and publishes its deletion.
func (r *Reconciler) forget(o contract.Object) {
	r.details.Forget(types.UID(o.UID))
	r.Reporter.Delete(o)
}

// isStale reports whether err means that the reconcile read a stale cache. A retry follows, so the error is not
// reported.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || errors.Is(err, errStale)
}

// tolerate records the error of a part that no other part depends on, so that one failed write does not block the
// others. It returns a stale cache error, since the reconcile must write nothing after it.
func (s *reconcileState) tolerate(name string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", name, err)
	if isStale(err) {
		return err
	}
	s.failures = append(s.failures, err)
	return nil
}

// failure returns the joined error of a reconcile that ended with err. Failed writes to a terminating namespace are
// not errors.
func (s *reconcileState) failure(err error) error {
	all := slices.Clone(s.failures)
	if err != nil {
		all = append(all, err)
	}
	return join(slices.DeleteFunc(all, func(err error) bool {
		return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	})...)
}

// join joins the errors that are not nil, in one line.
func join(list ...error) error {
	var out error
	for _, err := range list {
		switch {
		case err == nil:
		case out == nil:
			out = err
		default:
			out = fmt.Errorf("%w; %w", out, err)
		}
	}
	return out
}
