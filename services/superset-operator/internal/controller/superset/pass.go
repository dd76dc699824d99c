package superset

import (
	"context"
	"errors"
	"maps"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
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

// errStale means that the decision was made from a stale cache.
var errStale = errors.New("the Superset changed since it was read")

// pass is the state of one reconcile.
type pass struct {
	// sup is the latest known object; status writes update it.
	sup *v1alpha1.Superset
	// again is when to read sup again if the cache does not show the last write by then.
	again    time.Duration
	intent   contract.Intent
	refused  []string
	desired  *desired.State
	snapshot *snapshot.Snapshot
	// schedule is the clone's; nil if it has none.
	schedule *lifecycle.Schedule
	// decision is nil if the tasks were not evaluated.
	decision *lifecycle.Decision
	// persisted reports whether this reconcile wrote the status.
	persisted bool
	// applied reports whether the whole spec was applied.
	applied bool
	// failed is the permanent error that ended the reconcile; nil if there is none.
	failed *contract.Reconcile
	// failures are the errors that did not end the reconcile.
	failures []error
	// generations are the generations of the Deployments after they were applied, by component name.
	generations map[string]int64
}

// preflight reads the cluster and computes the desired state. It stops a reconcile that must not write: the Superset
// is terminating or paused, or its spec is invalid. The status is updated in the last two cases.
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

// findCreateFailures records why Jobs have no pods, and returns when to check again. An error is only logged: the
// reconcile does not depend on it.
func (r *Reconciler) findCreateFailures(ctx context.Context, p *pass) (again time.Duration) {
	for word, job := range observe.Podless(p.snapshot) {
		answer, after, err := r.creation.Find(ctx, job)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to read events", "job", job.Name)
		}
		if answer != "" {
			p.snapshot.CreateFailures[word] = answer
		}
		again = steps.MinRequeue(again, after)
	}
	return again
}

// plan computes the desired state.
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

// lastReplicas returns the current or last replica count of each component, except zero.
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

// persistStatus writes the status of a reconcile that ran all steps.
func (r *Reconciler) persistStatus(ctx context.Context, p *pass) (steps.Result, error) {
	p.applied = p.decision.Mode == lifecycle.Apply && len(p.failures) == 0
	_, err := r.persist(ctx, p)
	return steps.Result{}, err
}

// persist writes the owned status fields if they changed.
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
		r.written.Record(p.sup)
		metrics.Observe(before, p.sup, now)
	}
	return changed, err
}

func (p *pass) outcome(failure error) contract.Reconcile {
	return report.Outcome(p.refused, p.decision, failure)
}

// persistFailure also writes a permanent error to the phase.
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

// report publishes the observation, also if the reconcile failed.
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
		after = steps.MinRequeue(after, workload.UntilProbesDue(now, maps.Values(p.snapshot.Pods)))
	}
	return after, err
}
