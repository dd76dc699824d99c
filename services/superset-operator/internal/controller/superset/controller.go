package superset

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
	"github.com/flotilla-dev/flotilla/libs/kube/mutationcache"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

// FieldManager owns everything that this operator writes, except the conditions of flotilla-conditions.
const FieldManager = "superset-operator"

// formerManager is the field manager of the legacy operator. beforeFirstApply is the name that the API server gives
// to all managers before the first server-side apply.
const (
	formerManager    = "manager"
	beforeFirstApply = "before-first-apply"
)

// reasonReconcileError is the reason of events and observations of a failed reconcile.
const reasonReconcileError = "ReconcileError"

// staleRetry is how long to wait for the cache after a conflict.
const staleRetry = 50 * time.Millisecond

// Reporter publishes observations and, in standalone mode, writes the conditions of flotilla-conditions.
type Reporter interface {
	Report(ctx context.Context, cr client.Object, o contract.Observation) (time.Duration, error)
	Gone(object contract.Object)
}

// Reconciler reconciles Superset resources.
type Reconciler struct {
	client   client.Client // reads from the cache
	live     client.Reader // reads from the API server
	applier  *apply.Applier
	status   *ownedstatus.Writer
	reporter Reporter
	recorder events.EventRecorder
	clock    clock.PassiveClock
	written  *mutationcache.Cache[*v1alpha1.Superset]
	trouble  *trouble
	known    *known
	// namespaces limit the cache; empty means all.
	namespaces []string
	optional   optionals
	trail      *steps.Tracer
	creation   *createfailure.Finder
}

// Dependencies are the collaborators of a [Reconciler].
type Dependencies struct {
	// Client reads from the cache and keeps the index observe.ParentIndex.
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Reporter Reporter
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Namespaces limit the cache of Client; empty means all.
	Namespaces []string
}

// New returns a Reconciler.
func New(d Dependencies) *Reconciler {
	return &Reconciler{
		client: d.Client, live: d.Live, reporter: d.Reporter, recorder: d.Recorder, clock: d.Clock,
		applier: apply.New(d.Client, FieldManager, apply.WithFormerManagers(formerManager)),
		status: ownedstatus.New(d.Client, FieldManager,
			ownedstatus.WithConditions(status.Conditions()...), ownedstatus.WithoutConditions(conditions.Types()...)),
		written: mutationcache.New[*v1alpha1.Superset](d.Clock), trouble: newTrouble(), known: newKnown(),
		namespaces: d.Namespaces, optional: optionals{missing: newMissing()},
		trail: steps.NewTracer(v1alpha1.Kind, d.Clock), creation: createfailure.New(d.Live, d.Clock),
	}
}

// steps returns the steps of a reconcile in order. A step stops the reconcile when later steps must wait for it. The
// error of an [unrelated] step is returned at the end.
func (r *Reconciler) steps() []steps.Step[pass] {
	return []steps.Step[pass]{
		{Name: "preflight", Run: r.preflight},
		{Name: "adopt", Run: r.adopt},
		{Name: "service account", Run: r.serviceAccount},
		{Name: "lifecycle", Run: r.lifecycle},
		{Name: "components", Run: r.components},
		unrelated("networking", r.networking),
		unrelated("monitoring", r.monitoring),
		unrelated("policies", r.policies),
		unrelated("maintenance page", r.removePage),
		{Name: "status", Run: r.persistStatus},
		{Name: "retention", Run: r.retention},
	}
}

// Reconcile reconciles one Superset.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	sup := &v1alpha1.Superset{}
	again, err := r.written.Read(ctx, r.client, req.NamespacedName, sup)
	if apierrors.IsNotFound(err) {
		r.gone(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read superset %q: %w", req.NamespacedName, err)
	}
	p := &pass{sup: sup, again: again, generations: map[string]int64{}}
	ctx, end := r.trail.Begin(ctx, p.sup)
	result, err := r.run(ctx, p)
	end(err)
	return result, err
}

func (r *Reconciler) run(ctx context.Context, p *pass) (ctrl.Result, error) {
	read := p.sup.ResourceVersion
	result, err := steps.Run(ctx, p, r.steps())
	err = p.failure(err)
	if !isStale(err) {
		err = r.persistFailure(ctx, p, err)
	}
	if isStale(err) {
		r.written.Forget(client.ObjectKeyFromObject(p.sup))
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	r.complain(p.sup, err)
	after, reportErr := r.report(ctx, p, err)
	if p.sup.ResourceVersion != read {
		p.again = r.written.Record(p.sup)
	}
	if isStale(reportErr) {
		r.written.Forget(client.ObjectKeyFromObject(p.sup))
		after, reportErr = staleRetry, nil
	}
	after = steps.MinRequeue(after, p.again)
	if err := errors.Join(err, reportErr); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: steps.MinRequeue(result.Requeue, after)}, nil
}

// complain emits a Warning event when the reconcile error changes.
func (r *Reconciler) complain(sup *v1alpha1.Superset, err error) {
	if message, fresh := r.trouble.news(sup, err); fresh {
		r.recorder.Eventf(sup, nil, corev1.EventTypeWarning, reasonReconcileError, "Reconcile", "%s", message)
	}
}

// gone forgets a deleted Superset and publishes its deletion. Its children are garbage-collected by their owner
// references.
func (r *Reconciler) gone(key types.NamespacedName) {
	r.written.Forget(key)
	r.trouble.forget(key)
	r.trail.Forget(key)
	metrics.Gone(key)
	r.optional.missing.forget(key)
	if object, found := r.known.forget(key); found {
		r.reporter.Gone(object)
	}
}

// isStale reports whether err means that the reconcile read a stale cache. A retry follows, so the error is not
// reported.
func isStale(err error) bool {
	return errors.Is(err, ownedstatus.ErrStale) || errors.Is(err, apply.ErrStale) || errors.Is(err, errStale)
}
