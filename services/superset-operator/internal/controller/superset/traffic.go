package superset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// routeTraffic updates only the Service of the web server, while the other objects of the components must not change.
func (r *Reconciler) routeTraffic(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.selectsPage() == s.routedToPage() {
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
	if service == nil || service.Name != names.Component(s.sup.Name, component.WebServerName) || !s.routedToPage() {
		return service
	}
	service = service.DeepCopy()
	service.Spec.Selector = names.Selector(s.sup.Name, names.MaintenancePage)
	return service
}

// routedToPage reports whether the maintenance page receives the traffic of the web server.
func (s *reconcileState) routedToPage() bool {
	return s.decision != nil && s.decision.Status != nil && s.decision.Status.MaintenanceActive
}

// applyPage applies the maintenance page.
func (r *Reconciler) applyPage(ctx context.Context, s *reconcileState) (steps.Result, error) {
	page := s.desired.Page
	if !s.decision.Page || page == nil {
		return steps.Result{}, nil
	}
	if err := applyOrRemove(ctx, r, s, page.ConfigMap, s.snapshot.PageConfig); err != nil {
		return steps.Result{}, err
	}
	_, err := r.applier.Object(ctx, s.sup, page.Deployment, s.snapshot.Page)
	return steps.Result{}, err
}

// removePage deletes the maintenance page once the Service no longer selects it.
func (r *Reconciler) removePage(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if s.decision.Page || s.selectsPage() {
		return steps.Result{}, nil
	}
	if err := r.applier.Delete(ctx, s.snapshot.Page); err != nil {
		return steps.Result{}, err
	}
	return steps.Result{}, r.applier.Delete(ctx, s.snapshot.PageConfig)
}

// pageState returns the state of the maintenance page.
func pageState(s *reconcileState, now time.Time) lifecycle.Page {
	out := lifecycle.Page{Configured: s.desired.Page != nil, Routed: s.selectsPage()}
	if d := s.snapshot.Page; d != nil && d.DeletionTimestamp.IsZero() {
		out.Ready = snapshot.IsReady(d)
		if !out.Ready {
			out.Failure = cmp.Or(snapshot.NotReadyFailure(s.snapshot.PagePods, now), snapshot.CreateFailure(d))
		}
	}
	return out
}

// selectsPage reports whether the web server's Service selects the maintenance page.
func (s *reconcileState) selectsPage() bool {
	service := s.snapshot.Services[component.WebServerName]
	return service != nil && service.Spec.Selector[v1alpha1.LabelComponent] == names.MaintenancePage
}

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
		if isIdle(s.snapshot, d.Name) {
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

// scale changes only the replicas of the components while the tasks are incomplete, at exactly the resourceVersions that
// were read: to zero in a stopped Superset, and back if the decision allows it.
func (r *Reconciler) scale(ctx context.Context, s *reconcileState) (steps.Result, error) {
	for name, d := range s.snapshot.Deployments {
		replicas := s.replicas(name, d)
		if snapshot.DesiredReplicas(d) == replicas || !d.DeletionTimestamp.IsZero() {
			continue
		}
		if replicas > 0 {
			if err := r.checkFresh(ctx, s); err != nil {
				return steps.Result{}, err
			}
		}
		text, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": d.UID, "resourceVersion": d.ResourceVersion},
			"spec":     map[string]any{"replicas": replicas},
		})
		if err != nil {
			return steps.Result{}, fmt.Errorf("encode replicas of component %s: %w", name, err)
		}
		err = r.Client.Patch(ctx, d.DeepCopy(), client.RawPatch(types.MergePatchType, text), client.FieldOwner(names.FieldManager))
		switch {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			return steps.Result{}, errStale
		case err != nil:
			return steps.Result{}, fmt.Errorf("scale component %s: %w", name, err)
		}
	}
	return steps.Result{}, nil
}

// replicas returns the number of pods of an existing component while the tasks are incomplete. One that runs keeps its
// number, which an autoscaler may have set.
func (s *reconcileState) replicas(name string, d *appsv1.Deployment) int32 {
	now := snapshot.DesiredReplicas(d)
	c := find(s.desired.Components, name)
	switch {
	case s.decision.Drain:
		return now
	case s.intent.Stopped:
		return 0
	case s.decision.ScaleUp && now == 0 && c != nil && !s.startsFormer(c):
		return c.Replicas
	default:
		return now
	}
}

// isIdle reports whether the component has a Deployment that is scaled to zero and has no pods.
func isIdle(s *snapshot.Snapshot, slug string) bool {
	return s.Deployments[slug] != nil && snapshot.Idle(s.Deployments[slug])
}

// toRemove reports whether a drain has to delete objects of the component. An idle component stays unchanged. Only a
// terminating Deployment still counts: nothing runs in the other objects, and a finalizer may keep them for minutes.
func toRemove(s *snapshot.Snapshot, slug string) bool {
	if isIdle(s, slug) {
		return false
	}
	service := stays(s.Services[slug]) && slug != component.WebServerName
	return service || s.Deployments[slug] != nil || stays(s.Autoscalers[slug]) || stays(s.Budgets[slug])
}

// stays reports whether an object exists and is not terminating.
func stays[T object](obj T) bool {
	var zero T
	return obj != zero && obj.GetDeletionTimestamp().IsZero()
}
