package status

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// Failure is the failure that keeps an instance, or a part of it, from its desired state.
type Failure struct {
	Reason, Message string
	// Terminal: no retry clears it without a change by a user.
	Terminal bool
}

// Component is a part of an instance that runs as a Deployment.
type Component struct {
	// Deployment is as it was seen, nil when it does not exist.
	Deployment *appsv1.Deployment
	// Generation is what applying it returned, zero when it was not applied in this reconcile.
	Generation int64
	// Replicas is what it is meant to have.
	Replicas int32
	// Failure, if set, is more precise than the state of the Deployment.
	Failure *Failure
	// Desired is true when the reconcile reached the component. One that does not exist and
	// was not reached has no condition.
	Desired bool
	// WaitsFor is what an unready component waits for, if known.
	WaitsFor string
}

// answers reports whether a pod of the component is ready.
func (c Component) answers() bool {
	return c.Deployment != nil && c.Replicas > 0 && c.Deployment.Status.ReadyReplicas > 0
}

// condition judges the component; name is what people call it. It is nil when nothing is
// known. Messages do not count pods that come and go one by one: each is a status write.
func (c Component) condition(name string) *metav1.Condition {
	out := &metav1.Condition{Status: metav1.ConditionFalse}
	switch {
	case c.Failure != nil:
		out.Reason, out.Message = c.Failure.Reason, Clamp(c.Failure.Message)
	case c.Deployment == nil && !c.Desired:
		return nil
	case c.Replicas == 0 && c.Deployment != nil && c.Deployment.Status.Replicas > 0:
		out.Reason, out.Message = v1alpha1.ReasonStopping, fmt.Sprintf("The pods of the %s are terminating.", name)
	case c.Replicas == 0:
		out.Reason, out.Message = v1alpha1.ReasonStopped, fmt.Sprintf("The %s is stopped: zero replicas are desired.", name)
	case c.answers():
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, v1alpha1.ReasonComponentReady, fmt.Sprintf("The %s is ready.", name)
	default:
		out.Reason = c.unready()
		out.Message = Clamp(fmt.Sprintf("The %s has no ready pod%s.%s", name, c.WaitsFor, c.createFailure()))
	}
	return out
}

// unready distinguishes pods that are still starting from pods that were ready and are not
// any more, or that take longer than the Deployment's own deadline.
func (c Component) unready() string {
	if c.Deployment == nil || c.Deployment.Status.ObservedGeneration < c.Deployment.Generation || c.createFailure() != "" {
		return v1alpha1.ReasonProvisioning
	}
	for _, d := range c.Deployment.Status.Conditions {
		if d.Type == appsv1.DeploymentProgressing && (d.Reason == deploymentRolledOut || d.Reason == deploymentOverdue) {
			return v1alpha1.ReasonProbeFailed
		}
	}
	return v1alpha1.ReasonProvisioning
}

// Reasons that Kubernetes gives on a Deployment's condition Progressing.
const (
	deploymentRolledOut = "NewReplicaSetAvailable"
	deploymentOverdue   = "ProgressDeadlineExceeded"
)

// createFailure returns why Kubernetes creates no pods, for example a quota.
func (c Component) createFailure() string {
	if c.Deployment == nil {
		return ""
	}
	for _, d := range c.Deployment.Status.Conditions {
		if d.Type == appsv1.DeploymentReplicaFailure && d.Status == corev1.ConditionTrue {
			return " Kubernetes creates no pods: " + workload.CreateFailure(d.Message)
		}
	}
	return ""
}
