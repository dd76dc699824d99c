package superset

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/schedule"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

// observe reads the objects of the Superset from the cache.
func (r *Reconciler) observe(ctx context.Context, s *reconcileState) (steps.Result, error) {
	var err error
	s.intent = status.Intent(s.sup)
	if s.snapshot, err = observe.Snapshot(ctx, r.Client, s.sup); err != nil {
		return steps.Result{}, err
	}
	s.recheck = r.findCreateFailures(ctx, s)
	return steps.Result{}, nil
}

// findCreateFailures records why Jobs have no pods, and returns the delay of the next check. It only logs errors: the
// reconcile continues without the result.
func (r *Reconciler) findCreateFailures(ctx context.Context, s *reconcileState) (requeue time.Duration) {
	for slug, job := range observe.Podless(s.snapshot) {
		message, after, err := r.creation.Find(ctx, job)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to read events", "job", job.Name)
		}
		if message != "" {
			s.snapshot.CreateFailures[slug] = message
		}
		requeue = steps.MinRequeue(requeue, after)
	}
	return requeue
}

// plan computes the desired state.
func (r *Reconciler) plan(_ context.Context, s *reconcileState) (steps.Result, error) {
	in := desired.Input{Superset: s.sup, Stopped: s.intent.Stopped, LastReplicas: s.lastReplicas(), IPv6: r.IPv6}
	state := s.sup.Status.Lifecycle
	if state != nil {
		in.CompletedInputs = state.CompletedInputs
		in.Completed = lifecycle.NewCompletions(state).Complete
	}
	last := lifecycle.LastTime(state)
	if last != nil {
		in.ScheduledTime = last.Format(time.RFC3339)
	}
	if lc := s.sup.Spec.Lifecycle; lc != nil && lc.Clone != nil && lc.Clone.CronSchedule != nil {
		at := &lifecycle.Schedule{}
		at.ScheduledTime, at.Next, at.Err = schedule.At(*lc.Clone.CronSchedule, r.Clock.Now(), lifecycle.FrozenTime(state), last)
		if at.Err == nil {
			in.ScheduledTime = at.ScheduledTime.Format(time.RFC3339)
		}
		s.schedule = at
	}
	var err error
	s.desired, err = desired.For(in)
	return steps.Result{}, err
}

// validate stops a reconcile that must not write: the Superset is terminating or paused, or its spec is invalid. The
// status is updated in the last two cases.
func (r *Reconciler) validate(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if !s.sup.DeletionTimestamp.IsZero() {
		return steps.Result{Stop: true}, nil
	}
	if !s.intent.Paused {
		s.violations = resolve.Validate(s.sup)
	}
	if s.intent.Paused || len(s.violations) > 0 {
		_, wait, err := r.persist(ctx, s)
		return steps.Result{Stop: true, Requeue: wait}, err
	}
	return steps.Result{Requeue: s.recheck}, nil
}
