package superset

import (
	"context"
	"time"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// decide decides about the tasks, and what the components may do meanwhile.
func (r *Reconciler) decide(_ context.Context, s *reconcileState) (steps.Result, error) {
	decision := lifecycle.Decide(r.lifecycleInput(s))
	s.decision = &decision
	if decision.Next.IsZero() {
		return steps.Result{}, nil
	}
	return steps.Result{Requeue: max(decision.Next.Sub(r.Clock.Now()), time.Millisecond)}, nil
}

func (r *Reconciler) lifecycleInput(s *reconcileState) lifecycle.Input {
	in := lifecycle.Input{
		Name:       s.sup.Name,
		Jobs:       observe.Jobs(s.snapshot),
		Status:     s.sup.Status.Lifecycle,
		LastImage:  s.sup.Status.LastLifecycleImage,
		Image:      s.desired.TaskImage,
		Components: len(s.desired.Components) > 0,
		Disabled:   s.desired.Disabled,
		Stopped:    s.intent.Stopped,
		Gate:       gate(s.sup),
		Schedule:   s.schedule,
		Workloads:  workloads(s),
		Page:       pageState(s),
		Now:        r.Clock.Now(),
	}
	for i := range s.desired.Tasks {
		t := &s.desired.Tasks[i]
		in.Steps = append(in.Steps, lifecycle.Step{
			Kind: t.Kind, JobName: t.Name, Checksum: t.Checksum, Inputs: t.Inputs, PodHash: t.PodHash,
			KeysChecksum: t.KeysChecksum, SettingsChecksum: t.SettingsChecksum,
			Image: t.Image, MaxRetries: t.MaxRetries, RequiresDrain: t.RequiresDrain, Retention: t.Retention,
		})
	}
	return in
}

func gate(sup *v1alpha1.Superset) lifecycle.Gate {
	lc := sup.Spec.Lifecycle
	return lifecycle.Gate{
		Supervised:        lc != nil && lc.UpgradeMode != nil && *lc.UpgradeMode == v1alpha1.UpgradeSupervised,
		Approval:          sup.Annotations[v1alpha1.AnnotationApproveUpgrade],
		DowngradeApproval: sup.Annotations[v1alpha1.AnnotationApproveDowngrade],
	}
}

// workloads summarizes the existing workloads of all components, enabled or not.
func workloads(s *reconcileState) lifecycle.Workloads {
	var w lifecycle.Workloads
	for i := range s.desired.Components {
		c := &s.desired.Components[i]
		w.Desired = w.Desired || c.Replicas > 0
		w.WebDesired = w.WebDesired || c.Slug == component.WebServerName && c.Replicas > 0
	}
	snap := s.snapshot
	for _, d := range component.All() {
		w.Exist = w.Exist || toRemove(snap, d.Name)
		w.Idle = w.Idle || idle(snap, d.Name)
	}
	w.Idle = w.Idle && !w.Exist
	w.Exist = w.Exist || w.Idle
	w.Foreign = snap.Foreign
	w.Pods = pods(snap)
	web := snap.Deployments[component.WebServerName]
	live := web != nil && web.DeletionTimestamp.IsZero()
	for _, pod := range snap.Pods[component.WebServerName] {
		w.WebExists = w.WebExists || pod.DeletionTimestamp.IsZero()
	}
	w.WebExists = w.WebExists || live && snapshot.DesiredReplicas(web) > 0
	w.WebReady = live && snapshot.IsReady(web)
	return w
}

// pods returns the number of pods of all components.
func pods(s *snapshot.Snapshot) int {
	n := 0
	for _, list := range s.Pods {
		n += len(list)
	}
	return n
}
