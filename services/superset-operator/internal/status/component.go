package status

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	componentkind "github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/naming"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// component describes one enabled component's workload.
func component(in Input, c *desired.Component) *v1alpha1.ComponentRefStatus {
	applied := in.Generations[c.Word]
	out := &v1alpha1.ComponentRefStatus{
		Ref:       "Deployment/" + c.Name,
		Resources: resources(c, in.Snapshot),
	}
	d := in.Snapshot.Deployments[c.Word]
	out.LastReplicas = lastReplicas(in.Superset, c, d)
	if d == nil {
		out.Phase, out.Message = absent(in, c)
		out.Ready = fraction(0, c.Replicas)
		return out
	}
	want := snapshot.Asked(d)
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
	if why := cmp.Or(snapshot.Stuck(in.Snapshot.Pods[c.Word]), snapshot.NotCreated(d)); why != "" && out.Phase != v1alpha1.ComponentReady {
		out.Message += ": " + why
	}
	if c.Word == componentkind.WebServerName && maintenance(in) {
		out.Phase, out.Message = v1alpha1.ComponentProgressing, "The maintenance page answers for the web server"
		out.ReadyReplicas, out.Ready = 0, fraction(0, want)
	}
	return out
}

// absent returns the phase of a component without a workload, and why it has none.
func absent(in Input, c *desired.Component) (v1alpha1.ComponentPhase, string) {
	switch {
	case in.Decision != nil && in.Decision.Drained:
		return v1alpha1.ComponentDrained, "Removed until the lifecycle tasks are complete"
	case in.Decision != nil && in.Decision.Mode == lifecycle.Hold:
		return v1alpha1.ComponentPending, "Waits for the lifecycle tasks, which do not run now"
	case in.Decision != nil && in.Decision.Done() && in.Order.Waits(c.Word):
		return v1alpha1.ComponentPending, "Waits for the web server, which starts first"
	}
	return v1alpha1.ComponentPending, fmt.Sprintf("Deployment %s not found", c.Name)
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
	if d != nil && d.DeletionTimestamp.IsZero() && snapshot.Asked(d) > 0 {
		return snapshot.Asked(d)
	}
	if slot := slotOf(sup, c); slot != nil {
		return slot.LastReplicas
	}
	return 0
}

func slotOf(sup *v1alpha1.Superset, c *desired.Component) *v1alpha1.ComponentRefStatus {
	if sup.Status.Components == nil {
		return nil
	}
	return *c.Descriptor.Slot(sup.Status.Components)
}

// adopted returns the fingerprint of a workload that stays as an earlier operator made
// it, or an empty string. It stays so from our first status on, if that operator had
// observed the latest generation, and until the spec changes the workload.
func adopted(in Input, c *desired.Component) (string, error) {
	sup, d, slot := in.Superset, in.Snapshot.Deployments[c.Word], slotOf(in.Superset, c)
	if d == nil || slot == nil || slot.AdoptedSpec == "" && !taking(sup) {
		return "", nil
	}
	fingerprint, err := c.Fingerprint()
	switch {
	case err != nil:
		return "", err
	case slot.AdoptedSpec == fingerprint:
		return fingerprint, nil
	case taking(sup) && mainImage(d) == c.Image:
		return fingerprint, nil
	}
	return "", nil
}

// taking reports whether this operator has not yet written its first status over that
// of an earlier one, which had no transitions and observed the latest generation.
func taking(sup *v1alpha1.Superset) bool {
	return len(sup.Status.Transitions) == 0 && sup.Status.Phase != "" && sup.Status.ObservedGeneration == sup.Generation
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
	if c.ConfigMap != nil {
		out = append(out, v1alpha1.ResourceStatus{
			Kind: "ConfigMap", Name: c.ConfigMap.Name, Status: state(snap.ConfigMaps[c.Word] != nil),
		})
	}
	if c.HPA != nil {
		out = append(out, v1alpha1.ResourceStatus{
			Kind: "HorizontalPodAutoscaler", Name: c.HPA.Name, Status: state(snap.Autoscalers[c.Word] != nil),
		})
	}
	if c.PDB != nil {
		out = append(out, v1alpha1.ResourceStatus{
			Kind: "PodDisruptionBudget", Name: c.PDB.Name, Status: state(snap.Budgets[c.Word] != nil),
		})
	}
	return out
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
