package observation

import (
	"slices"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// validForSeconds is how long after the last heartbeat an observation is valid.
const validForSeconds = 30

// Input is the input of [For].
type Input struct {
	// Superset has the status after this reconcile.
	Superset *v1alpha1.Superset
	// Desired and Snapshot are nil if the reconcile failed before it computed them.
	Desired  *desired.State
	Snapshot *snapshot.Snapshot
	Intent   contract.Intent
	// Applied reports whether this reconcile applied the whole spec.
	Applied bool
	// Generations are those that applying the Deployments returned, by component name.
	Generations map[string]int64
	Outcome     contract.Reconcile
	Now         time.Time
}

// For returns the observation of a Superset.
func For(in Input) contract.Observation {
	sup := in.Superset
	o := contract.Observation{
		Object:          workload.Object(sup, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)),
		ObservedAt:      in.Now,
		ValidForSeconds: validForSeconds,
		Deleting:        !sup.DeletionTimestamp.IsZero(),
		Phase:           string(sup.Status.Phase),
		DeployedVersion: sup.Status.DeployedVersion,
		Reconcile:       in.Outcome,
		Intent:          in.Intent,
		Jobs:            jobs(in),
	}
	if in.Desired != nil && in.Snapshot != nil {
		o.Units = units(in)
	}
	o.ObservedGeneration = observedGeneration(in, o.Units)
	o.Units = append(o.Units, startFailures(in)...)
	return o
}

// observedGeneration returns the latest generation that was applied and that every child has observed. Otherwise it
// returns the previous one, from the conditions.
func observedGeneration(in Input, list []contract.Unit) int64 {
	notObserved := func(u contract.Unit) bool { return !u.Present || !u.Observed }
	if in.Applied && !slices.ContainsFunc(list, notObserved) || isStopped(in, list) {
		return in.Superset.Generation
	}
	var before int64
	for _, c := range in.Superset.Status.Conditions {
		if c.Type == conditions.TypeAvailable { // the only condition that never describes a spec that is not applied
			before = c.ObservedGeneration
		}
	}
	return min(before, in.Superset.Generation)
}

// isStopped reports whether a Superset is stopped and runs no pod: its tasks and its
// components wait for the start as intended, so its spec is applied as far as possible.
func isStopped(in Input, list []contract.Unit) bool {
	if !in.Intent.Stopped || in.Intent.Paused || in.Desired == nil || in.Snapshot == nil {
		return false
	}
	return !slices.ContainsFunc(list, func(u contract.Unit) bool {
		return u.Present && (!u.Observed || u.Desired != 0 || u.Current != 0)
	})
}

func units(in Input) []contract.Unit {
	var out []contract.Unit
	for i := range in.Desired.Components {
		c := &in.Desired.Components[i]
		d := in.Snapshot.Deployments[c.Slug]
		routed := c.Service == nil || in.Snapshot.Services[c.Slug] != nil
		if c.Slug == component.WebServerName && in.Superset.Status.Lifecycle != nil {
			routed = routed && !in.Superset.Status.Lifecycle.MaintenanceActive
		}
		want := c.Replicas
		if c.Autoscaling != nil && d != nil && want > 0 {
			want = -1 // the number that the autoscaler set in the Deployment
		}
		out = append(out, workload.Deployment(
			contract.Unit{
				Name: c.Descriptor.Key, Kind: "Deployment", Role: contract.Serving,
				Routed: routed, Desired: want,
			},
			d,
			workload.Inputs{AppliedGeneration: in.Generations[c.Slug], Pods: in.Snapshot.Pods[c.Slug], Now: in.Now},
		))
	}
	return out
}

// remedy is the advice for a task that failed and has no attempt left.
const remedy = "Fix the cause, then change the settings of the task, raise maxRetries, or revert the image."

// failureMessage returns the cause of a permanent failure, if it is known, and the remedy.
func failureMessage(cause string) string {
	if cause == "" {
		return remedy
	}
	return "Cause: " + strings.TrimSuffix(cause, ".") + ". " + remedy
}

// jobs returns the tasks from the status, which outlives their Jobs.
func jobs(in Input) []contract.Job {
	state := in.Superset.Status.Lifecycle
	if state == nil {
		return nil
	}
	waits := in.Intent.Stopped || in.Intent.Paused || in.Outcome.Terminal ||
		state.Phase == v1alpha1.LifecycleBlocked || state.Phase == v1alpha1.LifecycleAwaitingApproval
	var out []contract.Job
	for _, kind := range resolve.TaskKinds() {
		entry := *kind.StatusRef(state)
		// A task that must not start does not indicate progress, and neither does an attempt whose Job cannot be
		// created.
		if entry == nil || waits && entry.State == v1alpha1.TaskPending ||
			in.Outcome.Terminal && entry.State == v1alpha1.TaskRunning && !hasJob(in.Snapshot, kind.Slug) {
			continue
		}
		job := contract.Job{Name: kind.Slug, State: contract.JobState(entry.State), Message: entry.Message}
		if entry.State == v1alpha1.TaskFailed {
			job.Message = failureMessage(entry.Message)
		}
		out = append(out, job)
	}
	return out
}

func hasJob(s *snapshot.Snapshot, slug string) bool { return s != nil && s.Jobs[slug] != nil }
