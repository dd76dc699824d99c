package superset

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// drain deletes the workloads of all components, including those that the spec no longer enables. The Service of the
// web server stays: it selects the maintenance page.
func (r *Reconciler) drain(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if !s.decision.Drain {
		return steps.Result{}, nil
	}
	if err := r.checkFresh(ctx, s); err != nil {
		return steps.Result{}, err
	}
	for _, d := range component.All() {
		if idle(s.snapshot, d.Name) {
			continue
		}
		if err := s.tolerate("drain "+d.Key, r.removeWorkload(ctx, s, d.Name)); err != nil {
			return steps.Result{}, err
		}
		if d.Name == component.WebServerName {
			continue
		}
		if err := s.tolerate("drain "+d.Key, r.applier.Delete(ctx, s.snapshot.Services[d.Name])); err != nil {
			return steps.Result{}, err
		}
	}
	return steps.Result{}, nil
}

// scaleDown scales the components to zero while the tasks are incomplete. Nothing else of their Deployments changes.
func (r *Reconciler) scaleDown(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.decision.Drain || !s.intent.Stopped {
		return steps.Result{}, nil
	}
	for name, d := range s.snapshot.Deployments {
		if snapshot.DesiredReplicas(d) == 0 || !d.DeletionTimestamp.IsZero() {
			continue
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`))
		if err := r.Client.Patch(ctx, d.DeepCopy(), patch, client.FieldOwner(names.FieldManager)); err != nil {
			return steps.Result{}, fmt.Errorf("scale down component %s: %w", name, err)
		}
	}
	return steps.Result{}, nil
}

// idle reports whether the component has a Deployment that is scaled to zero and has no pods.
func idle(s *snapshot.Snapshot, slug string) bool {
	return s.Deployments[slug] != nil && snapshot.Idle(s.Deployments[slug])
}

// toRemove reports whether a drain has something of the component to delete. An idle component stays as it is.
func toRemove(s *snapshot.Snapshot, slug string) bool {
	if idle(s, slug) {
		return false
	}
	service := s.Services[slug] != nil && slug != component.WebServerName
	return service || s.Deployments[slug] != nil || s.Autoscalers[slug] != nil || s.Budgets[slug] != nil
}
