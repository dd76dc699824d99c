package superset

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// routeTraffic updates only the Service of the web server, while the other objects of the components must not change.
func (r *Reconciler) routeTraffic(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if pageState(s).Routed == s.behindPage() {
		return steps.Result{}, nil
	}
	web := find(s.desired.Components, component.WebServerName)
	if web == nil {
		return steps.Result{}, nil
	}
	_, err := r.applier.Object(ctx, s.sup, s.route(web.Service), s.snapshot.Services[web.Slug])
	return steps.Result{}, err
}

// route makes the web server's Service select the maintenance page while it is active. Other Services are not
// changed.
func (s *reconcileState) route(service *corev1.Service) *corev1.Service {
	if service == nil || service.Name != names.Component(s.sup.Name, component.WebServerName) || !s.behindPage() {
		return service
	}
	service = service.DeepCopy()
	service.Spec.Selector = names.Selector(s.sup.Name, names.MaintenancePage)
	return service
}

// behindPage reports whether the maintenance page receives the traffic of the web server.
func (s *reconcileState) behindPage() bool {
	return s.decision != nil && s.decision.Status != nil && s.decision.Status.MaintenanceActive
}
