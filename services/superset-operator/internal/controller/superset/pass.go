package superset

import (
	"context"
	"errors"
	"maps"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/contract"
	kubeobserve "github.com/flotilla-dev/flotilla/libs/kube/observe"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/report"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/schedule"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

// errStale says that the API server has newer data than the decision was made from.
var errStale = errors.New("the Superset changed since it was read")

// pass is one reconcile of one Superset.
type pass struct {
	// sup is the newest version known; status writes bring it up to date.
	sup *v1alpha1.Superset
	// again is when to read sup again, should the cache not show the last write by then.
	again    time.Duration
	intent   contract.Intent
	refused  []string
	desired  *desired.State
	snapshot *snapshot.Snapshot
	// schedule is the clone's; nil without one.
	schedule *lifecycle.Schedule
	// decision is nil when the tasks were not looked at.
	decision *lifecycle.Decision
	// persisted is true when the decision was written in this reconcile.
	persisted bool
	// applied is true once everything in the spec was applied.
	applied bool
	// failed is the error that ended the reconcile, if no retry cures it.
	failed *contract.Reconcile
	// failures are the errors that did not end the reconcile.
	failures []error
	// generations are those that applying the Deployments returned, by component name.
	generations map[string]int64
}

// preflight reads everything and stops what must not be touched: a Superset that
// is being deleted, paused, or whose spec contradicts itself. Their
// status stays fresh all the same.
func (r *Reconciler) preflight(ctx context.Context, p *pass) (steps.Result, error) {
	var err error
	p.intent = status.Intent(p.sup)
	if p.snapshot, err = observe.Snapshot(ctx, r.client, p.sup); err != nil {
		return steps.Result{}, err
	}
	podless := r.findCreateFailures(ctx, p)
	if err := r.plan(p); err != nil {
		return steps.Result{}, err
	}
	if !p.sup.DeletionTimestamp.IsZero() {
		return steps.Result{Stop: true}, nil
	}
	if !p.intent.Paused {
		p.refused = resolve.Invalid(p.sup)
	}
	if p.intent.Paused || len(p.refused) > 0 {
		_, err := r.persist(ctx, p)
		return steps.Result{Stop: true}, err
	}
	return steps.Result{Requeue: podless}, nil
}

// findCreateFailures finds out why Jobs have no pods, and returns when to look again. It is
// a help, never an obstacle: a failure is logged.
func (r *Reconciler) findCreateFailures(ctx context.Context, p *pass) (again time.Duration) {
	for word, job := range observe.Podless(p.snapshot) {
		answer, after, err := r.creation.Find(ctx, job)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to read events", "job", job.Name)
		}
		if answer != "" {
			p.snapshot.CreateFailures[word] = answer
		}
		again = steps.Sooner(again, after)
	}
	return again
}

// plan computes what the spec asks for.
func (r *Reconciler) plan(p *pass) error {
	in := desired.Input{Superset: p.sup, Stopped: p.intent.Stopped, LastReplicas: p.lastReplicas()}
	state := p.sup.Status.Lifecycle
	if state != nil {
		in.Kept = state.CompletedInputs
	}
	if tick := lifecycle.KeptTick(state); tick != nil {
		in.Tick = tick.Format(time.RFC3339)
	}
	if lc := p.sup.Spec.Lifecycle; lc != nil && lc.Clone != nil && lc.Clone.CronSchedule != nil {
		at := &lifecycle.Schedule{}
		at.Tick, at.Next, at.Err = schedule.At(*lc.Clone.CronSchedule, r.clock.Now(), lifecycle.FrozenTick(state))
		if at.Err == nil {
			in.Tick = at.Tick.Format(time.RFC3339)
		}
		p.schedule = at
	}
	var err error
	p.desired, err = desired.For(in)
	return err
}

// lastReplicas says how many pods each component asks for, or last asked for.
func (p *pass) lastReplicas() map[string]int32 {
	last := map[string]int32{}
	for _, d := range component.All() {
		if p.sup.Status.Components != nil {
			if slot := *d.Slot(p.sup.Status.Components); slot != nil && slot.LastReplicas > 0 {
				last[d.Name] = slot.LastReplicas
			}
		}
		if live := p.snapshot.Deployments[d.Name]; live != nil && snapshot.Asked(live) > 0 {
			last[d.Name] = snapshot.Asked(live)
		}
	}
	return last
}

// persistStatus ends a pass that went all the way.
func (r *Reconciler) persistStatus(ctx context.Context, p *pass) (steps.Result, error) {
	p.applied = p.decision.Mode == lifecycle.Apply && len(p.failures) == 0
	_, err := r.persist(ctx, p)
	return steps.Result{}, err
}

// persist writes the owned status fields if they differ from what is stored.
func (r *Reconciler) persist(ctx context.Context, p *pass) (bool, error) {
	now := r.clock.Now()
	owned, err := status.For(status.Input{
		Superset: p.sup, Desired: p.desired, Snapshot: p.snapshot, Decision: p.decision,
		Generations: p.generations, Applied: p.applied, Intent: p.intent, Refused: p.refused, Failed: p.failed,
		Order: p.order(now), Now: now,
	})
	if err != nil {
		return false, err
	}
	before := p.sup.DeepCopy()
	changed, err := r.status.Apply(ctx, p.sup, owned)
	if err == nil && changed {
		r.written.Remember(p.sup)
		metrics.Observe(before, p.sup, now)
	}
	return changed, err
}

func (p *pass) outcome(failure error) contract.Reconcile {
	return report.Outcome(p.refused, p.decision, failure)
}

// persistFailure shows an error that no retry cures in the phase, too.
func (r *Reconciler) persistFailure(ctx context.Context, p *pass, failure error) error {
	if failure == nil || p.desired == nil || p.snapshot == nil {
		return failure
	}
	if outcome := p.outcome(failure); outcome.Terminal {
		p.failed = &outcome
		_, err := r.persist(ctx, p)
		return errors.Join(failure, err)
	}
	return failure
}

// report tells the world what was seen, also when the reconcile failed.
func (r *Reconciler) report(ctx context.Context, p *pass, failure error) (time.Duration, error) {
	now := r.clock.Now()
	outcome := p.outcome(failure)
	outcome.Since = r.trouble.since(p.sup, outcome.Outcome == contract.Failed, now)
	observation := report.Observation(report.Input{
		Superset: p.sup, Desired: p.desired, Snapshot: p.snapshot, Intent: p.intent,
		Applied: p.applied, Generations: p.generations, Outcome: outcome, Now: now,
	})
	if before, replaced := r.known.remember(observation.Object); replaced {
		r.reporter.Gone(before)
	}
	after, err := r.reporter.Report(ctx, p.sup, observation)
	if p.snapshot != nil {
		after = steps.Sooner(after, kubeobserve.UntilProbesDue(now, maps.Values(p.snapshot.Pods)))
	}
	return after, err
}
