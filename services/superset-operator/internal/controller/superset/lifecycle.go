package superset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/bringup"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// decide decides which tasks run, which changes to the components are allowed meanwhile, and which component starts first.
func (r *Reconciler) decide(_ context.Context, s *reconcileState) (steps.Result, error) {
	decision := lifecycle.Decide(r.lifecycleInput(s))
	s.decision = &decision
	s.order = bringup.For(s.desired.Components, s.snapshot, r.Clock.Now())
	if decision.Next.IsZero() {
		return steps.Result{}, nil
	}
	return steps.Result{Requeue: max(decision.Next.Sub(r.Clock.Now()), time.Millisecond)}, nil
}

func (r *Reconciler) lifecycleInput(s *reconcileState) lifecycle.Input {
	now := r.Clock.Now()
	in := lifecycle.Input{
		Name:       s.sup.Name,
		Jobs:       observe.Jobs(s.snapshot),
		FormerPods: observe.FormerPods(s.snapshot),
		Status:     s.sup.Status.Lifecycle,
		LastImage:  s.sup.Status.LastLifecycleImage,
		Image:      s.desired.TaskImage,
		Components: len(s.desired.Components) > 0,
		Disabled:   s.desired.Disabled,
		Stopped:    s.intent.Stopped,
		Gate:       gate(s.sup),
		Schedule:   s.schedule,
		Workloads:  workloads(s),
		Page:       pageState(s, now),
		Now:        now,
	}
	for i := range s.desired.Tasks {
		t := &s.desired.Tasks[i]
		in.Steps = append(in.Steps, lifecycle.Step{
			Kind: t.Kind, JobName: t.Name, Checksum: t.Checksum, Inputs: t.Inputs, PodHash: t.PodHash,
			KeysChecksum: t.KeysChecksum, SettingsChecksum: t.SettingsChecksum,
			Image: t.Image, ImageInput: t.ImageInput(), MaxRetries: t.MaxRetries, RequiresDrain: t.RequiresDrain, Retention: t.Retention,
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
		w.Idle = w.Idle || isIdle(snap, d.Name)
	}
	w.Idle = w.Idle && !w.Exist
	w.Exist = w.Exist || w.Idle
	w.Foreign, w.Unmanaged = snap.Foreign, snap.Unmanaged
	w.Pods = activePods(snap)
	web := snap.Deployments[component.WebServerName]
	live := web != nil && web.DeletionTimestamp.IsZero()
	w.WebExists = mayServe(snap.Pods[component.WebServerName]) || live && snapshot.DesiredReplicas(web) > 0
	w.WebReady = live && snapshot.IsReady(web)
	return w
}

// mayServe reports whether a pod runs and is not terminating.
func mayServe(pods []corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.DeletionTimestamp.IsZero() && !snapshot.Ended(&pod) })
}

// activePods returns the number of pods of all components that may run.
func activePods(s *snapshot.Snapshot) int {
	n := 0
	for _, list := range s.Pods {
		n += snapshot.Active(list)
	}
	return n
}

// clearApprovals removes the approval annotations of a settled change, so that they cannot approve another one.
func (r *Reconciler) clearApprovals(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if !s.decision.ClearApprovals {
		return steps.Result{}, nil
	}
	annotations := map[string]any{}
	for _, name := range []string{v1alpha1.AnnotationApproveUpgrade, v1alpha1.AnnotationApproveDowngrade} {
		if _, set := s.sup.Annotations[name]; set {
			annotations[name] = nil
		}
	}
	if len(annotations) == 0 {
		return steps.Result{}, nil
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": s.sup.ResourceVersion, "annotations": annotations,
	}})
	if err != nil {
		return steps.Result{}, fmt.Errorf("encode patch of approvals: %w", err)
	}
	target := s.sup.DeepCopy()
	err = r.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, text), client.FieldOwner(names.FieldManager))
	switch {
	case apierrors.IsConflict(err):
		return steps.Result{}, errStale
	case err != nil:
		return steps.Result{}, fmt.Errorf("clear approvals: %w", err)
	}
	s.sup = target
	r.written.Record(s.sup)
	return steps.Result{}, nil
}

// recordEvents emits the events of the decision if this reconcile persisted it.
func (r *Reconciler) recordEvents(_ context.Context, s *reconcileState) (steps.Result, error) {
	if !s.persisted {
		return steps.Result{}, nil
	}
	for _, e := range s.decision.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		r.Recorder.Eventf(s.sup, nil, kind, e.Reason, "Lifecycle", "%s", e.Message)
	}
	return steps.Result{}, nil
}

// emitError emits a Warning event, with the reason of the conditions, when the reconcile error changes.
func (r *Reconciler) emitError(sup *v1alpha1.Superset, err error) {
	if r.errors.Changed(sup, err) {
		out := observation.Failure(err)
		r.Recorder.Eventf(sup, nil, corev1.EventTypeWarning, out.Reason, "Reconcile", "%s", out.Message)
	}
}
