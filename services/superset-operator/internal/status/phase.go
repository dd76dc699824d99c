package status

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// Sources of a pause or a stop.
const (
	PausedBySpec      = "spec.suspend"
	ByAnnotation      = "annotation " + v1alpha1.AnnotationCommand
	reasonPaused      = "ReconciliationPaused"
	reasonStopped     = "Stopped"
	reasonFirstRun    = "FirstDeployment"
	reasonImage       = "ImageChanged"
	reasonReady       = "AllComponentsReady"
	reasonNoneEnabled = "NoComponentsEnabled"
	reasonNotReady    = "ComponentsNotReady"
)

// Intent returns the pause or stop that the user requested. Paused takes precedence over Stopped.
func Intent(sup *v1alpha1.Superset) contract.Intent {
	var intent contract.Intent
	command := sup.Annotations[v1alpha1.AnnotationCommand]
	switch {
	case sup.Spec.Suspend != nil && *sup.Spec.Suspend:
		intent.Paused, intent.PausedBy = true, PausedBySpec
	case command == v1alpha1.CommandPaused:
		intent.Paused, intent.PausedBy = true, ByAnnotation
	}
	if command == v1alpha1.CommandStopped {
		intent.Stopped, intent.StoppedBy = true, ByAnnotation
	}
	return intent
}

// change is a phase with the reason and message of the transition into it.
type change struct {
	phase           v1alpha1.Phase
	reason, message string
}

// phase returns the phase of the first rule that matches.
func phase(in Input, out *v1alpha1.SupersetStatus, sum totals) change {
	old := in.Superset.Status.Phase
	switch {
	case in.Intent.Paused:
		return change{v1alpha1.PhaseSuspended, reasonPaused, "Reconciliation is paused by " + in.Intent.PausedBy + "."}
	case len(in.Violations) > 0, in.Failed != nil:
		return blockedPhase(in)
	case in.Unattempted && blockedBefore(in.Superset):
		return change{phase: old}
	case in.Intent.Stopped && sum.pods+snapshot.Active(in.Snapshot.PagePods) == 0 && noneDesired(in):
		return change{v1alpha1.PhaseStopped, reasonStopped, "The Superset is stopped by " + in.Intent.StoppedBy + "."}
	case in.Intent.Stopped && old != "", in.Decision == nil:
		return change{phase: old}
	}
	if blocked := decidedPhase(in.Decision); blocked != "" {
		return change{blocked, in.Decision.Condition.Reason, in.Decision.Condition.Message}
	}
	if c, running := lifecyclePhase(in, old); running {
		return c
	}
	if restores(in, out) {
		return change{phase: old}
	}
	return componentsPhase(in, sum)
}

// restores reports whether the components are still those of the old phase: the reconcile has not attempted them yet, or they
// return after the tasks of a first deployment or of an upgrade.
func restores(in Input, out *v1alpha1.SupersetStatus) bool {
	if in.Decision.Mode == lifecycle.Apply && !in.Applied && in.Incomplete == nil {
		return true
	}
	old := in.Superset.Status.Phase
	return out.Lifecycle != nil && out.Lifecycle.Phase == v1alpha1.LifecycleRestoring &&
		(old == v1alpha1.PhaseInitializing || old == v1alpha1.PhaseUpgrading)
}

// blockedPhase returns the phase of a permanent failure, until the spec or what it references changes.
func blockedPhase(in Input) change {
	if len(in.Violations) > 0 {
		return change{v1alpha1.PhaseBlocked, v1alpha1.ReasonInvalidSpec, resolve.InvalidSpecMessage(in.Violations)}
	}
	return change{v1alpha1.PhaseBlocked, in.Failed.Reason, in.Failed.Message}
}

// blockedBefore reports whether an earlier reconcile of the same generation ended with a permanent failure. Each retry would
// leave the phase Blocked and enter it again otherwise.
func blockedBefore(sup *v1alpha1.Superset) bool {
	return sup.Status.Phase == v1alpha1.PhaseBlocked && sup.Status.ObservedGeneration == sup.Generation
}

// decidedPhase returns the phase of tasks that must not start, or of which one has no attempt left; empty for all others.
func decidedPhase(d *lifecycle.Decision) v1alpha1.Phase {
	if d.Phase == "" && d.Condition.Reason == v1alpha1.ReasonTaskFailed {
		return v1alpha1.PhaseBlocked
	}
	return d.Phase
}

// lifecyclePhase returns the phase while the tasks of a first deployment or of an
// upgrade are not complete. For a task that runs again for another reason, the
// components determine the phase.
func lifecyclePhase(in Input, old v1alpha1.Phase) (change, bool) {
	d := in.Decision
	settled := d.Mode == lifecycle.Apply && (old == v1alpha1.PhaseInitializing || old == v1alpha1.PhaseUpgrading || working(old))
	switch {
	case settled:
		return change{}, false
	case d.Initial:
		return change{v1alpha1.PhaseInitializing, reasonFirstRun, "The first deployment of " + in.Desired.TaskImage + " is in progress."}, true
	case d.Upgrading:
		return change{
			v1alpha1.PhaseUpgrading, reasonImage,
			fmt.Sprintf("The image changes from %s to %s.", d.From, in.Desired.TaskImage),
		}, true
	}
	return change{}, false
}

func componentsPhase(in Input, sum totals) change {
	switch {
	case len(in.Desired.Components) == 0 && in.Incomplete == nil:
		return change{v1alpha1.PhaseRunning, reasonNoneEnabled, "No component is enabled."}
	case sum.allReady && in.Incomplete != nil:
		return change{v1alpha1.PhaseDegraded, in.Incomplete.Reason, in.Incomplete.Message}
	case sum.allReady:
		return change{v1alpha1.PhaseRunning, reasonReady, "All components are ready."}
	}
	return change{v1alpha1.PhaseDegraded, reasonNotReady, "Components are not ready: " + strings.Join(sum.notReady, ", ") + "."}
}

// noneDesired reports whether every existing Deployment desires zero pods.
func noneDesired(in Input) bool {
	for slug, d := range in.Snapshot.Deployments {
		if snapshot.DesiredReplicas(d) != 0 || d.Status.ObservedGeneration < max(d.Generation, in.Generations[slug]) || d.Status.Replicas != 0 {
			return false
		}
	}
	return true
}
