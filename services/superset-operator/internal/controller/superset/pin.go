package superset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/bringup"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// pinImages pins every running component to its current image, since the tasks for another image have not run or must
// not run. Before the first completion it ends the reconcile: components must not be created in part.
func (*Reconciler) pinImages(_ context.Context, s *reconcileState) (steps.Result, error) {
	for i := range s.desired.Components {
		c := &s.desired.Components[i]
		live := s.snapshot.Deployments[c.Slug]
		if live == nil {
			continue
		}
		if image := mainImage(live); image != "" {
			c.Image = image
			setMainImage(c.Deployment, image)
		}
	}
	return steps.Result{Stop: s.decision.Initial}, nil
}

// mustNotCreate reports whether the component must not be added now.
func (s *reconcileState) mustNotCreate(c *desired.Component) bool {
	return s.decision.Mode == lifecycle.Hold && s.snapshot.Deployments[c.Slug] == nil
}

// bringupOrder returns which components wait for the web server.
func (s *reconcileState) bringupOrder(now time.Time) bringup.Order {
	return bringup.For(s.desired.Components, s.snapshot, now)
}

// deployment returns the Deployment to apply for a component. An adopted Deployment keeps its spec, except the number
// of replicas, while the fingerprint of the desired one is the same as at the adoption. replicas is nil if the
// autoscaler owns it.
func (s *reconcileState) deployment(c *desired.Component) (*appsv1.Deployment, error) {
	live, want := s.snapshot.Deployments[c.Slug], c.Deployment
	if entry := s.entry(c); live != nil && entry != nil && entry.AdoptedSpec != "" {
		fingerprint, err := c.Fingerprint()
		if err != nil {
			return nil, err
		}
		if entry.AdoptedSpec == fingerprint {
			want = c.Deployment.DeepCopy()
			want.Spec = *live.Spec.DeepCopy()
			want.Spec.Replicas = c.Deployment.Spec.Replicas
		}
	}
	return autoscaled(c, want, live)
}

// entry returns the component's status entry; nil if there is none yet.
func (s *reconcileState) entry(c *desired.Component) *v1alpha1.ComponentRefStatus {
	if s.sup.Status.Components == nil {
		return nil
	}
	return *c.Descriptor.StatusRef(s.sup.Status.Components)
}

func mainImage(d *appsv1.Deployment) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == names.MainContainer {
			return c.Image
		}
	}
	return ""
}

func setMainImage(d *appsv1.Deployment, image string) {
	containers := d.Spec.Template.Spec.Containers
	for i := range containers {
		if containers[i].Name == names.MainContainer {
			containers[i].Image = image
		}
	}
}
