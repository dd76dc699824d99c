package status

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// Failure describes why an instance, or a component, is not in its desired state.
type Failure struct {
	Reason, Message string
	// Terminal is true when only a change by a user clears the failure.
	Terminal bool
}

// Component is a component of an instance that runs as a Deployment.
type Component struct {
	// Deployment is the observed Deployment, nil when it does not exist.
	Deployment *appsv1.Deployment
	// Generation is the generation that the apply returned, zero when this reconcile did not apply it.
	Generation int64
	// Replicas is the desired number.
	Replicas int32
	// Failure, if set, is more precise than the state of the Deployment.
	Failure *Failure
	// Desired is true when the reconcile reached the component. A component that does not exist and
	// was not reached has no condition.
	Desired bool
	// WaitsFor is what an unready component waits for, if known.
	WaitsFor string
}

// hasReadyPod reports whether a pod of the component is ready.
func (c Component) hasReadyPod() bool {
	return c.Deployment != nil && c.Replicas > 0 && c.Deployment.Status.ReadyReplicas > 0
}

// defaultProgressDeadline is the API server's default for a Deployment, in seconds.
const defaultProgressDeadline = 600

// Deadline returns when a component without available pods exceeds the progress deadline of its Deployment; zero if it has
// pods. Kubernetes applies that deadline only until a rollout of the Deployment ends.
func (c Component) Deadline() time.Time {
	if c.Deployment == nil {
		return time.Time{}
	}
	for _, d := range c.Deployment.Status.Conditions {
		if d.Type == appsv1.DeploymentAvailable && d.Status == corev1.ConditionFalse {
			seconds := ptr.Deref(c.Deployment.Spec.ProgressDeadlineSeconds, defaultProgressDeadline)
			return d.LastTransitionTime.Add(time.Duration(seconds) * time.Second)
		}
	}
	return time.Time{}
}

// condition returns the condition of the component; name is used in messages. It is nil when nothing is
// known. Messages contain no pod counts: each change would be a status write.
func (c Component) condition(name string) *metav1.Condition {
	out := &metav1.Condition{Status: metav1.ConditionFalse}
	switch {
	case c.Failure != nil:
		out.Reason, out.Message = c.Failure.Reason, contract.Text(c.Failure.Message)
	case c.Deployment == nil && !c.Desired:
		return nil
	case c.Replicas == 0 && c.Deployment != nil && c.Deployment.Status.Replicas > 0:
		out.Reason, out.Message = v1alpha1.ReasonStopping, fmt.Sprintf("The pods of the %s are terminating.", name)
	case c.Replicas == 0:
		out.Reason, out.Message = v1alpha1.ReasonStopped, fmt.Sprintf("The %s is stopped: zero replicas are desired.", name)
	case c.hasReadyPod():
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, v1alpha1.ReasonComponentReady, fmt.Sprintf("The %s is ready.", name)
	default:
		out.Reason = c.unready()
		out.Message = contract.Text(fmt.Sprintf("The %s has no ready pod%s.%s", name, c.WaitsFor, c.createFailure()))
	}
	return out
}

// unready distinguishes pods that are starting from pods that were ready and no longer
// are, or that exceed the Deployment's progress deadline.
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

// Reasons of the condition Progressing of a Deployment.
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
