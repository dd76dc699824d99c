package status

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// component describes one enabled component's workload. applied is the generation
// that applying its Deployment returned in this reconcile; zero when it was not applied.
func component(c *desired.Component, snap *snapshot.Snapshot, applied int64) *v1alpha1.ComponentRefStatus {
	out := &v1alpha1.ComponentRefStatus{
		Ref:       "Deployment/" + c.Name,
		Resources: resources(c, snap),
	}
	d := snap.Deployments[c.Word]
	if d == nil {
		out.Phase = v1alpha1.ComponentPending
		out.Ready = fraction(0, c.Replicas)
		out.Message = fmt.Sprintf("Deployment %s not found", c.Name)
		return out
	}
	want := replicas(d)
	if d.Generation < applied {
		want = c.Replicas
	}
	out.Image = mainImage(d)
	out.ConfigChecksum = d.Spec.Template.Annotations[v1alpha1.AnnotationConfigChecksum]
	out.Replicas = want
	out.ReadyReplicas, out.UpdatedReplicas = d.Status.ReadyReplicas, d.Status.UpdatedReplicas
	out.AvailableReplicas = d.Status.AvailableReplicas
	out.Ready = fraction(d.Status.ReadyReplicas, want)
	out.Phase, out.Message = componentPhase(d, want, max(d.Generation, applied))
	return out
}

// componentPhase applies the rules in order; the first that matches wins.
func componentPhase(d *appsv1.Deployment, want int32, generation int64) (v1alpha1.ComponentPhase, string) {
	s := &d.Status
	switch {
	case s.ObservedGeneration < generation:
		return v1alpha1.ComponentProgressing, "The Deployment's newest spec has not been taken up yet"
	case want == 0:
		return v1alpha1.ComponentReady, "Scaled to zero"
	case s.ReadyReplicas == want && s.UpdatedReplicas >= want && s.AvailableReplicas >= want && s.Replicas <= want:
		return v1alpha1.ComponentReady, ""
	case deadlineExceeded(d):
		return v1alpha1.ComponentUnavailable, fmt.Sprintf("The roll-out made no progress in time: %d of %d replicas are ready", s.ReadyReplicas, want)
	case s.ReadyReplicas > 0 || s.UpdatedReplicas > 0:
		return v1alpha1.ComponentProgressing, fmt.Sprintf("%d of %d replicas are ready", s.ReadyReplicas, want)
	}
	return v1alpha1.ComponentUnavailable, fmt.Sprintf("0 of %d replicas are ready", want)
}

func deadlineExceeded(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
	})
}

// resources lists the objects that the component should have.
func resources(c *desired.Component, snap *snapshot.Snapshot) []v1alpha1.ResourceStatus {
	state := func(present bool) v1alpha1.ResourceState {
		if present {
			return v1alpha1.ResourcePresent
		}
		return v1alpha1.ResourceMissing
	}
	out := []v1alpha1.ResourceStatus{
		{Kind: "Deployment", Name: c.Name, Status: state(snap.Deployments[c.Word] != nil)},
	}
	if c.Service != nil {
		out = append(out, v1alpha1.ResourceStatus{
			Kind: "Service", Name: c.Service.Name, Status: state(snap.Services[c.Word] != nil),
		})
	}
	return append(out, v1alpha1.ResourceStatus{
		Kind: "ConfigMap", Name: c.ConfigMap.Name, Status: state(snap.ConfigMaps[c.Word] != nil),
	})
}

func replicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

func mainImage(d *appsv1.Deployment) string {
	for i := range d.Spec.Template.Spec.Containers {
		if c := &d.Spec.Template.Spec.Containers[i]; c.Name == naming.MainContainer {
			return c.Image
		}
	}
	return ""
}

func fraction(ready, want int32) string { return fmt.Sprintf("%d/%d", ready, want) }
