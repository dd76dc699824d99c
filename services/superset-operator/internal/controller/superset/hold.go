package superset

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/bringup"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
)

// hold gives every component that runs the image that it runs with: the tasks for
// another one have not run, or may not.
func (p *pass) hold() {
	for i := range p.desired.Components {
		c := &p.desired.Components[i]
		live := p.snapshot.Deployments[c.Word]
		if live == nil {
			continue
		}
		if image := mainImage(live); image != "" {
			c.Image = image
			setMainImage(c.Deployment, image)
		}
	}
}

// held is true for a component that may not be added now.
func (p *pass) held(c *desired.Component) bool {
	return p.decision.Mode == lifecycle.Hold && p.snapshot.Deployments[c.Word] == nil
}

// order says which components wait for the web server.
func (p *pass) order(now time.Time) bringup.Order {
	return bringup.For(p.desired.Components, p.snapshot, now)
}

// deployment is what to apply for a component. The workload of an earlier operator
// stays as it was found, but for the number of pods, while the spec asks for what
// it asked for then. Without replicas the number of pods is the autoscaler's.
func (p *pass) deployment(c *desired.Component) (*appsv1.Deployment, error) {
	live, want := p.snapshot.Deployments[c.Word], c.Deployment
	if slot := p.slot(c); live != nil && slot != nil && slot.AdoptedSpec != "" {
		fingerprint, err := c.Fingerprint()
		if err != nil {
			return nil, err
		}
		if slot.AdoptedSpec == fingerprint {
			want = c.Deployment.DeepCopy()
			want.Spec = *live.Spec.DeepCopy()
			want.Spec.Replicas = c.Deployment.Spec.Replicas
		}
	}
	return autoscaled(c, want, live)
}

// slot is the component's place in the status; nil before it has one.
func (p *pass) slot(c *desired.Component) *v1alpha1.ComponentRefStatus {
	if p.sup.Status.Components == nil {
		return nil
	}
	return *c.Descriptor.Slot(p.sup.Status.Components)
}

func mainImage(d *appsv1.Deployment) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == naming.MainContainer {
			return c.Image
		}
	}
	return ""
}

func setMainImage(d *appsv1.Deployment, image string) {
	containers := d.Spec.Template.Spec.Containers
	for i := range containers {
		if containers[i].Name == naming.MainContainer {
			containers[i].Image = image
		}
	}
}
