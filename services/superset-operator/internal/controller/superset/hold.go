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

// hold pins every running component to its current image, since the tasks for another image have not run or must not
// run.
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

// held reports whether the component must not be added now.
func (p *pass) held(c *desired.Component) bool {
	return p.decision.Mode == lifecycle.Hold && p.snapshot.Deployments[c.Word] == nil
}

// order returns which components wait for the web server.
func (p *pass) order(now time.Time) bringup.Order {
	return bringup.For(p.desired.Components, p.snapshot, now)
}

// deployment returns the Deployment to apply for a component. An adopted Deployment keeps its spec, except the number
// of replicas, while the fingerprint of the desired one is the same as at the adoption. replicas is nil if the
// autoscaler owns it.
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

// slot returns the component's status entry; nil if there is none yet.
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
