package superset

import (
	"cmp"
	"context"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/maintenance"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// applyPage applies the maintenance page. A stopped Superset runs no pods, including these.
func (r *Reconciler) applyPage(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if !s.decision.Page {
		return steps.Result{}, nil
	}
	page := resolve.MaintenancePage(s.sup)
	if page == nil {
		return steps.Result{}, nil
	}
	if s.intent.Stopped {
		page.Replicas = 0
	}
	if err := applyOrRemove(ctx, r, s, maintenance.ConfigMap(page), s.snapshot.PageConfig); err != nil {
		return steps.Result{}, err
	}
	_, err := r.applier.Object(ctx, s.sup, maintenance.Deployment(page), s.snapshot.Page)
	return steps.Result{}, err
}

// removePage deletes the maintenance page once the Service no longer selects it.
func (r *Reconciler) removePage(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.decision.Page || pageState(s).Routed {
		return steps.Result{}, nil
	}
	if err := r.applier.Delete(ctx, s.snapshot.Page); err != nil {
		return steps.Result{}, err
	}
	return steps.Result{}, r.applier.Delete(ctx, s.snapshot.PageConfig)
}

// pageState returns the state of the maintenance page.
func pageState(s *reconcileState) lifecycle.Page {
	lc := s.sup.Spec.Lifecycle
	out := lifecycle.Page{Configured: lc != nil && lc.MaintenancePage != nil && s.sup.Spec.WebServer != nil}
	if d := s.snapshot.Page; d != nil && d.DeletionTimestamp.IsZero() {
		out.Ready = snapshot.IsReady(d)
		if !out.Ready {
			out.StartFailure = cmp.Or(snapshot.StartFailure(s.snapshot.PagePods), snapshot.CreateFailure(d))
		}
	}
	if service := s.snapshot.Services[component.WebServerName]; service != nil {
		out.Routed = service.Spec.Selector[v1alpha1.LabelComponent] == names.MaintenancePage
	}
	return out
}
