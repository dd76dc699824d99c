package superset

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

// persistDecision writes the status before anything acts on the decision. If the mode is Apply and the decision
// changes no field, [Reconciler.persistStatus] writes the status later, unless an adoption ends: with a record of it, the
// pods of an edit would be taken for adopted ones once the edit is reverted.
func (r *Reconciler) persistDecision(ctx context.Context, s *reconcileState) (steps.Result, error) {
	changes, err := s.endsAdoption()
	if err != nil {
		return steps.Result{}, err
	}
	changes = changes || !equality.Semantic.DeepEqual(s.decision.Status, s.sup.Status.Lifecycle) ||
		s.decision.LastImage != s.sup.Status.LastLifecycleImage
	if s.decision.Mode == lifecycle.Apply && !changes {
		return steps.Result{}, nil
	}
	var wait time.Duration
	s.unattempted = true
	s.persisted, wait, err = r.persist(ctx, s)
	return steps.Result{Requeue: wait}, err
}

// persistStatus writes the status of a reconcile that attempted all components.
func (r *Reconciler) persistStatus(ctx context.Context, s *reconcileState) (steps.Result, error) {
	s.applied = s.decision.Mode == lifecycle.Apply && len(s.failures) == 0
	s.setFailure(s.failure(nil))
	_, wait, err := r.persist(ctx, s)
	return steps.Result{Requeue: wait}, err
}

// persist writes the owned status fields if they changed. If only details did, it may return a delay instead.
func (r *Reconciler) persist(ctx context.Context, s *reconcileState) (changed bool, wait time.Duration, err error) {
	owned, err := r.ownedStatus(s)
	if err != nil {
		return false, 0, err
	}
	if status.OnlyDetailsDiffer(&s.sup.Status, &owned) {
		if wait := r.details.Wait(s.sup.UID); wait > 0 {
			return false, wait, nil
		}
	}
	changed, err = r.write(ctx, s, owned)
	return changed, 0, err
}

func (r *Reconciler) ownedStatus(s *reconcileState) (v1alpha1.SupersetStatus, error) {
	return status.For(status.Input{
		Superset: s.sup, Desired: s.desired, Snapshot: s.snapshot, Decision: s.decision,
		Generations: s.generations, Applied: s.applied, Intent: s.intent, Violations: s.violations,
		Failed: s.failed, Incomplete: s.incomplete, Unattempted: s.unattempted,
		Order: s.order, Now: r.Clock.Now(),
	})
}

func (r *Reconciler) write(ctx context.Context, s *reconcileState, owned v1alpha1.SupersetStatus) (bool, error) {
	before := s.sup.Status.Lifecycle // a write replaces the status, not what it points to
	changed, err := r.status.Apply(ctx, s.sup, owned)
	if err != nil {
		return false, err
	}
	if changed {
		r.details.Written(s.sup.UID)
		r.written.Record(s.sup)
		metrics.Observe(before, s.sup.Status.Lifecycle, r.Clock.Now())
	}
	return changed, nil
}

// persistOutcome writes a permanent error to the phase. In a mode without a later status write it also ends the phase
// Blocked that [Reconciler.persistDecision] kept.
func (r *Reconciler) persistOutcome(ctx context.Context, s *reconcileState, failure error) error {
	if s.desired == nil || s.snapshot == nil {
		return nil
	}
	kept := s.unattempted && s.sup.Status.Phase == v1alpha1.PhaseBlocked
	s.setFailure(failure)
	if s.failed == nil && !kept {
		return nil
	}
	owned, err := r.ownedStatus(s)
	if err != nil {
		return err
	}
	_, err = r.write(ctx, s, owned)
	return err
}

// setFailure records how the steps ended, for the following status write.
func (s *reconcileState) setFailure(failure error) {
	s.unattempted = false
	if failure == nil {
		return
	}
	outcome := s.outcome(failure)
	switch {
	case outcome.Terminal:
		s.failed = &outcome
	case s.decision != nil && s.decision.Mode == lifecycle.Apply:
		s.incomplete = &outcome
	}
}

// report publishes the observation, also if the reconcile failed.
func (r *Reconciler) report(ctx context.Context, s *reconcileState, failure error) (time.Duration, error) {
	now := r.Clock.Now()
	outcome := s.outcome(failure)
	outcome.Since = r.errors.FailingSince(s.sup, outcome.Outcome == contract.Failed, now)
	o := observation.For(observation.Input{
		Superset: s.sup, Desired: s.desired, Snapshot: s.snapshot, Intent: s.intent,
		Applied: s.applied, Generations: s.generations, Outcome: outcome, Now: now,
	})
	r.uids.Record(o.Object)
	after, err := r.Reporter.Report(ctx, s.sup, o)
	if s.snapshot != nil {
		after = steps.MinRequeue(after, workload.UntilProbesDue(now, maps.Values(s.snapshot.Pods)))
		after = steps.MinRequeue(after, workload.UntilProbesDue(now, slices.Values([][]corev1.Pod{s.snapshot.PagePods})))
	}
	return after, err
}
