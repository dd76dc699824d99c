package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	componentkind "github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// component describes one enabled component's workload.
func component(in Input, c *desired.Component) *v1alpha1.ComponentRefStatus {
	applied := in.Generations[c.Slug]
	out := &v1alpha1.ComponentRefStatus{
		Ref:       "Deployment/" + c.Name,
		Resources: resources(c, in.Snapshot),
	}
	d := in.Snapshot.Deployments[c.Slug]
	out.LastReplicas = lastReplicas(in.Superset, c, d)
	if d == nil {
		out.Phase, out.Message = absent(in, c)
		out.Ready = fraction(0, c.Replicas)
		return out
	}
	want := snapshot.DesiredReplicas(d)
	if d.Generation < applied {
		want = c.Replicas
	}
	out.Image = snapshot.MainImage(&d.Spec.Template.Spec)
	out.ConfigChecksum = d.Spec.Template.Annotations[v1alpha1.AnnotationConfigChecksum]
	out.Replicas = want
	out.ReadyReplicas, out.UpdatedReplicas = d.Status.ReadyReplicas, d.Status.UpdatedReplicas
	out.AvailableReplicas = d.Status.AvailableReplicas
	out.Ready = fraction(d.Status.ReadyReplicas, want)
	out.Phase, out.Message = componentPhase(d, want, max(d.Generation, applied))
	if cause := cmp.Or(snapshot.StartFailure(in.Snapshot.Pods[c.Slug]), snapshot.CreateFailure(d)); cause != "" && out.Phase != v1alpha1.ComponentReady {
		out.Message = strings.TrimSuffix(out.Message, ".") + ": " + strings.TrimSuffix(cause, ".") + "."
	}
	if c.Slug == componentkind.WebServerName && maintenance(in) {
		out.Phase, out.Message = v1alpha1.ComponentProgressing, "The maintenance page receives the traffic of the web server."
		out.ReadyReplicas, out.Ready = 0, fraction(0, want)
	}
	return out
}

// absent returns the phase of a component without a workload, and the cause.
func absent(in Input, c *desired.Component) (v1alpha1.ComponentPhase, string) {
	switch {
	case in.Decision != nil && in.Decision.Drained:
		return v1alpha1.ComponentDrained, "The component is removed until the lifecycle tasks are complete."
	case in.Decision != nil && in.Decision.Mode == lifecycle.Hold:
		return v1alpha1.ComponentPending, "The component waits for the lifecycle tasks, which are not running."
	case in.Decision != nil && in.Decision.Mode == lifecycle.Apply && in.Order.IsDelayed(c.Slug):
		return v1alpha1.ComponentPending, "The component waits for the web server, which starts first."
	}
	return v1alpha1.ComponentPending, fmt.Sprintf("Deployment %s does not exist.", c.Name)
}

// maintenance reports whether the maintenance page receives the traffic of the web server.
func maintenance(in Input) bool {
	state := in.Superset.Status.Lifecycle
	if in.Decision != nil {
		state = in.Decision.Status
	}
	return state != nil && state.MaintenanceActive
}

// lastReplicas returns the last count of an autoscaler, which the status keeps while there are no pods.
func lastReplicas(sup *v1alpha1.Superset, c *desired.Component, d *appsv1.Deployment) int32 {
	if c.Autoscaling == nil {
		return 0
	}
	if d != nil && d.DeletionTimestamp.IsZero() && snapshot.DesiredReplicas(d) > 0 {
		return snapshot.DesiredReplicas(d)
	}
	if entry := c.Descriptor.Status(sup); entry != nil {
		return entry.LastReplicas
	}
	return 0
}

// adopted returns the fingerprint of an unmodified workload of an earlier operator, otherwise an empty string. A
// workload is adopted with the first status of this operator if the earlier one had observed the latest generation,
// and until the spec changes the workload. A change that is not applied, since the reconcile is paused, rejected or runs
// tasks, may be reverted and ends no adoption.
func adopted(in Input, c *desired.Component) (string, error) {
	sup, d, entry := in.Superset, in.Snapshot.Deployments[c.Slug], c.Descriptor.Status(in.Superset)
	if d == nil || entry == nil || entry.AdoptedSpec == "" && !adopting(sup) {
		return "", nil
	}
	fingerprint, err := c.Fingerprint()
	switch {
	case err != nil:
		return "", err
	case entry.AdoptedSpec == fingerprint:
		return fingerprint, nil
	case adopting(sup) && snapshot.MainImage(&d.Spec.Template.Spec) == c.Image:
		return fingerprint, nil
	case in.Decision == nil, in.Decision.Mode == lifecycle.Wait:
		return entry.AdoptedSpec, nil
	}
	return "", nil
}

// adopting reports whether this operator has not yet written its first status over that
// of an earlier one, which had no transitions and observed the latest generation.
func adopting(sup *v1alpha1.Superset) bool {
	return len(sup.Status.Transitions) == 0 && sup.Status.Phase != "" && sup.Status.ObservedGeneration == sup.Generation
}

// componentPhase returns the phase of the first rule that matches.
func componentPhase(d *appsv1.Deployment, want int32, generation int64) (v1alpha1.ComponentPhase, string) {
	s := &d.Status
	switch {
	case s.ObservedGeneration < generation:
		return v1alpha1.ComponentProgressing, "The latest spec of the Deployment is not observed yet."
	case want == 0:
		return v1alpha1.ComponentReady, "The component is scaled to zero."
	case s.ReadyReplicas == want && s.UpdatedReplicas >= want && s.AvailableReplicas >= want && s.Replicas <= want:
		return v1alpha1.ComponentReady, ""
	case deadlineExceeded(d):
		return v1alpha1.ComponentUnavailable, fmt.Sprintf("The rollout exceeded its progress deadline: %d of %d replicas are ready.", s.ReadyReplicas, want)
	case s.ReadyReplicas > 0 || s.UpdatedReplicas > 0:
		return v1alpha1.ComponentProgressing, fmt.Sprintf("%d of %d replicas are ready.", s.ReadyReplicas, want)
	}
	return v1alpha1.ComponentUnavailable, fmt.Sprintf("0 of %d replicas are ready.", want)
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
		{Kind: "Deployment", Name: c.Name, Status: state(snap.Deployments[c.Slug] != nil)},
	}
	if c.Service != nil {
		out = append(out, v1alpha1.ResourceStatus{
			Kind: "Service", Name: c.Service.Name, Status: state(snap.Services[c.Slug] != nil),
		})
	}
	if c.ConfigMap != nil {
		out = append(out, v1alpha1.ResourceStatus{
			Kind: "ConfigMap", Name: c.ConfigMap.Name, Status: state(snap.ConfigMaps[c.Slug] != nil),
		})
	}
	if c.HPA != nil {
		out = append(out, v1alpha1.ResourceStatus{
			Kind: "HorizontalPodAutoscaler", Name: c.HPA.Name, Status: state(snap.Autoscalers[c.Slug] != nil),
		})
	}
	if c.PDB != nil {
		out = append(out, v1alpha1.ResourceStatus{
			Kind: "PodDisruptionBudget", Name: c.PDB.Name, Status: state(snap.Budgets[c.Slug] != nil),
		})
	}
	return out
}

func fraction(ready, want int32) string { return fmt.Sprintf("%d/%d", ready, want) }
