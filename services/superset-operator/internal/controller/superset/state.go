package superset

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/bringup"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// step is a step of a reconcile.
type step = steps.Step[reconcileState]

// Modes of the decision in which a step runs. While the tasks change the metastore ([lifecycle.Wait]) the reconcile
// only routes traffic and removes or scales down components.
var (
	waiting        = []lifecycle.Mode{lifecycle.Wait}
	holding        = []lifecycle.Mode{lifecycle.Hold}
	applying       = []lifecycle.Mode{lifecycle.Apply}
	incomplete     = []lifecycle.Mode{lifecycle.Wait, lifecycle.Hold}
	withComponents = []lifecycle.Mode{lifecycle.Hold, lifecycle.Apply}
)

// steps lists the steps of a reconcile in order. A decision is persisted before a step acts on it. All other status
// fields are written once, at the end. A step that returns Stop ends the reconcile; the error of an [unrelated] step
// is returned at the end.
//
// The Job actions have two positions. While tasks are incomplete they precede the components, so that a failure to
// apply a component does not delay a task. Once the tasks are complete they only delete finished Jobs and come last,
// so that a failed deletion does not block the components.
func (r *Reconciler) steps() []step {
	return []step{
		{Name: "observe", Run: r.observe},
		{Name: "plan", Run: r.plan},
		{Name: "admission", Run: r.validate},
		{Name: "adoption", Run: r.adopt},
		{Name: "service account", Run: r.serviceAccount},
		{Name: "decide", Run: r.decide},
		in(holding, step{Name: "pin images", Run: r.pinImages}),
		{Name: "persist", Run: r.persistDecision},
		{Name: "events", Run: r.recordEvents},
		in(incomplete, step{Name: "jobs", Run: r.runJobs}),
		{Name: "task config", Run: r.pruneTaskConfig},
		{Name: "approvals", Run: r.clearApprovals},
		unrelated("maintenance page", r.applyPage),
		in(holding, step{Name: "creation", Run: r.delayCreation}),
		in(waiting, step{Name: "traffic", Run: r.routeTraffic}),
		in(withComponents, step{Name: "components", Run: r.components}),
		in(applying, unrelated("former service accounts", r.pruneAccounts)),
		in(withComponents, unrelated("networking", r.networking)),
		in(withComponents, unrelated("monitoring", r.monitoring)),
		in(withComponents, unrelated("policies", r.policies)),
		unrelated("maintenance page removal", r.removePage),
		in(waiting, step{Name: "drain", Run: r.drain}),
		in(waiting, step{Name: "scale", Run: r.scale}),
		in(withComponents, step{Name: "status", Run: r.persistStatus}),
		in(applying, step{Name: "retention", Run: r.runJobs}),
	}
}

// in limits a step to modes of the decision.
func in(modes []lifecycle.Mode, st step) step {
	st.When = func(s *reconcileState) bool { return slices.Contains(modes, s.decision.Mode) }
	return st
}

// unrelated returns a step whose failure does not stop the following steps.
func unrelated(name string, run func(context.Context, *reconcileState) (steps.Result, error)) step {
	return step{Name: name, Run: func(ctx context.Context, s *reconcileState) (steps.Result, error) {
		result, err := run(ctx, s)
		return result, s.tolerate(name, err)
	}}
}

// errStale means that the decision is based on a stale cache.
var errStale = errors.New("stale cache")

// reconcileState is the state of one reconcile.
type reconcileState struct {
	// sup is the latest known object; status writes update it.
	sup *v1alpha1.Superset
	// rereadAfter is when to read sup again if the cache does not show the last write by then.
	rereadAfter time.Duration
	// recheck is when to check again why Jobs have no pods; zero for never.
	recheck    time.Duration
	intent     contract.Intent
	violations []string
	desired    *desired.State
	snapshot   *snapshot.Snapshot
	// schedule is the clone's; nil if it has none.
	schedule *lifecycle.Schedule
	// decision is nil if the tasks were not evaluated.
	decision *lifecycle.Decision
	// order holds which components wait for the web server; empty if none does any more.
	order bringup.Order
	// persisted reports whether this reconcile wrote the decision to the status.
	persisted bool
	// applied reports whether the whole spec was applied.
	applied bool
	// failed is the permanent error that ended the reconcile, incomplete the other error of one that attempted all
	// components; nil if there is none.
	failed, incomplete *contract.Reconcile
	// unattempted reports whether the last status write of the reconcile preceded the steps that may fail.
	unattempted bool
	// failures are the errors that did not end the reconcile.
	failures []error
	// generations are the generations of the Deployments after they were applied, by component name.
	generations map[string]int64
}

// lastReplicas returns the current or last replica count of each component, except zero.
func (s *reconcileState) lastReplicas() map[string]int32 {
	last := map[string]int32{}
	for _, d := range component.All() {
		if entry := d.Status(s.sup); entry != nil && entry.LastReplicas > 0 {
			last[d.Name] = entry.LastReplicas
		}
		if live := s.snapshot.Deployments[d.Name]; live != nil && snapshot.DesiredReplicas(live) > 0 {
			last[d.Name] = snapshot.DesiredReplicas(live)
		}
	}
	return last
}

func (s *reconcileState) outcome(failure error) contract.Reconcile {
	return observation.Outcome(s.violations, s.decision, failure)
}
