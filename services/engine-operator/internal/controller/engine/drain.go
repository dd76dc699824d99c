package engine

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// checkDrain reads the latest drain result of the draining generation. It never
// waits for a pod: checks run in the background and enqueue the engine when they end.
func (r *Reconciler) checkDrain(ctx context.Context, s *reconcileState) (steps.Result, error) {
	d := resolve.DrainOf(s.engine, s.class)
	s.drain = engine.Drain{Skip: d.Skip, Every: d.Interval}
	old := s.plan.Next.Draining
	if s.engine.Status.Phase != v1alpha1.PhaseDraining || old == engine.None || d.Skip {
		r.drains.Forget(s.engine.UID)
		return steps.Result{}, nil
	}
	if status.Intent(s.engine).Paused {
		r.drains.Forget(s.engine.UID)
		s.keepDrainError()
		return steps.Result{}, nil
	}
	result := r.drains.Check(drain.Query{
		Engine: client.ObjectKeyFromObject(s.engine), UID: s.engine.UID, Generation: old,
		Mode: scrapeMode(s.instance), Pods: s.children.Pods[old],
		Switched: switchedAt(s.engine.Status.Transitions), Interval: d.Interval,
	})
	r.recordDrain(ctx, s, result)
	s.drain.Drained = result.Drained
	if result.Error != "" {
		s.drainError = status.DrainFailed(old, result.Error)
	}
	if !result.Checked { // after a restart, the previous result is valid until the first check
		s.keepDrainError()
	}
	if result.Drained {
		return steps.Result{}, nil
	}
	var remaining time.Duration
	s.drain.Expired, remaining = elapsed(result.Switched, d.Timeout, r.Clock.Now())
	return steps.Result{Requeue: steps.MinRequeue(remaining, result.RequeueAfter)}, nil
}

// keepDrainError keeps the recorded error of the drain check, which has not recovered while no check runs.
func (s *reconcileState) keepDrainError() {
	if was := meta.FindStatusCondition(s.engine.Status.Conditions, v1alpha1.ConditionReady); was != nil && was.Reason == v1alpha1.ReasonDrainCheckFailing {
		s.drainError = was.Message
	}
}

// overdue reports whether the generation that is being built missed its deadline, and otherwise
// the remaining time, which is zero without a deadline or without a generation in progress.
func overdue(e *v1alpha1.FireboltEngine, deadline time.Duration, now time.Time) (isOverdue bool, remaining time.Duration) {
	start := e.Status.RolloutStartedAt
	if start == nil || e.Status.Phase != v1alpha1.PhaseCreating {
		return false, 0
	}
	return elapsed(start.Time, deadline, now)
}

// canRollBack reports whether the StatefulSet of a generation has had the whole deadline to become ready, and otherwise the
// remaining time. A generation can wait for its StatefulSet, which is not the fault of its rendering. One that was edited
// does not get the time: each edit replaces it, and the next one is as new.
func canRollBack(set *appsv1.StatefulSet, deadline time.Duration, now time.Time) (ok bool, remaining time.Duration) {
	if set == nil {
		return false, 0
	}
	return elapsed(set.CreationTimestamp.Time, deadline, now)
}

// elapsed reports whether the limit has passed since start, and otherwise the remaining time, which is zero without a limit.
func elapsed(start time.Time, limit time.Duration, now time.Time) (isElapsed bool, remaining time.Duration) {
	if limit <= 0 {
		return false, 0
	}
	remaining = start.Add(limit).Sub(now)
	return remaining <= 0, max(remaining, 0)
}

// recordDrain counts a failed check, and logs the error when it has changed.
func (r *Reconciler) recordDrain(ctx context.Context, s *reconcileState, v drain.Result) {
	if v.Fresh && v.Error != "" {
		metrics.DrainCheckFailed(client.ObjectKeyFromObject(s.engine), s.engine.Spec.InstanceRef)
	}
	log := ctrl.LoggerFrom(ctx).WithValues("generation", s.plan.Next.Draining)
	switch {
	case v.Changed && v.Error != "":
		log.Info("Failed to query the draining generation", "cause", v.Error)
	case v.Changed:
		log.Info("Queried the draining generation", "queries", v.Queries)
	}
}

// scrapeMode returns the scrape mode of the instance; without an instance, pods are queried directly.
func scrapeMode(i *v1alpha1.FireboltInstance) v1alpha1.ScrapeMode {
	if i == nil {
		return v1alpha1.ScrapePodIP
	}
	return i.Spec.MetricScrapeMode
}

// switchedAt returns the time at which traffic was routed away from the draining generation: the
// start of the phase, plus one second, because recorded times are truncated. It is zero for an
// engine that an earlier operator left in draining.
func switchedAt(transitions []transition.Entry) time.Time {
	for _, t := range slices.Backward(transitions) {
		if t.To == string(v1alpha1.PhaseDraining) {
			return t.Time.Add(time.Second)
		}
	}
	return time.Time{}
}
