package superset

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/maintenance"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// route makes the web server's Service select the maintenance page while it is active. Other Services are not
// changed.
func (p *pass) route(service *corev1.Service) *corev1.Service {
	if service == nil || service.Name != naming.Component(p.sup.Name, component.WebServerName) || !p.behindPage() {
		return service
	}
	service = service.DeepCopy()
	service.Spec.Selector = naming.Selector(p.sup.Name, naming.MaintenancePage)
	return service
}

// behindPage reports whether the maintenance page receives the traffic of the web server.
func (p *pass) behindPage() bool {
	return p.decision != nil && p.decision.Status != nil && p.decision.Status.MaintenanceActive
}

// routeTraffic updates only the Service of the web server, while the other objects of the components must not change.
func (r *Reconciler) routeTraffic(ctx context.Context, p *pass) error {
	if pageState(p).Routed == p.behindPage() {
		return nil
	}
	web := find(p.desired.Components, component.WebServerName)
	if web == nil {
		return nil
	}
	_, err := r.applier.Object(ctx, p.sup, p.route(web.Service), p.snapshot.Services[web.Word])
	return err
}

// applyPage applies the maintenance page. A stopped Superset runs no pods, including these.
func (r *Reconciler) applyPage(ctx context.Context, p *pass) error {
	page := resolve.MaintenancePage(p.sup)
	if page == nil {
		return nil
	}
	if p.intent.Stopped {
		page.Replicas = 0
	}
	if err := applyOrRemove(ctx, r, p, maintenance.ConfigMap(page), p.snapshot.PageConfig); err != nil {
		return err
	}
	_, err := r.applier.Object(ctx, p.sup, maintenance.Deployment(page), p.snapshot.Page)
	return err
}

// removePage deletes the maintenance page once the Service no longer selects it.
func (r *Reconciler) removePage(ctx context.Context, p *pass) (steps.Result, error) {
	if p.decision.Page || pageState(p).Routed {
		return steps.Result{}, nil
	}
	if err := r.applier.Delete(ctx, p.snapshot.Page); err != nil {
		return steps.Result{}, err
	}
	return steps.Result{}, r.applier.Delete(ctx, p.snapshot.PageConfig)
}
