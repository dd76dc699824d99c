package snapshot

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/redact"
)

// maxReason is the maximum size of the reason of a pod that cannot start, in bytes.
const maxReason = 256

// unscheduled are the reasons of a pod that the scheduler assigns to no node.
var unscheduled = []string{corev1.PodReasonUnschedulable, corev1.PodReasonSchedulerError}

// StartFailure returns the reason why one of the pods cannot start; empty if all can, or if it is unknown.
func StartFailure(pods []corev1.Pod) string {
	for i := range pods {
		if text := podStartFailure(&pods[i]); text != "" {
			return redact.Line(text, maxReason)
		}
	}
	return ""
}

// NotReadyFailure returns the reason why one of the pods cannot start or become ready, for example a crash or a probe that
// fails; empty if it is unknown.
func NotReadyFailure(pods []corev1.Pod, now time.Time) string {
	if text := StartFailure(pods); text != "" {
		return text
	}
	for _, f := range workload.Failures(pods, now) {
		return redact.Line(f.Message, maxReason)
	}
	return ""
}

// CreateFailure returns the reason why Kubernetes cannot create pods of a Deployment; empty if it can.
func CreateFailure(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return CreateFailureMessage(workload.CreateFailure(c.Message))
		}
	}
	return ""
}

// CreateFailureMessage formats the API server's answer to the creation of a pod; empty for none.
func CreateFailureMessage(message string) string {
	if message == "" {
		return ""
	}
	return redact.Line("pods cannot be created: "+message, maxReason)
}

func podStartFailure(p *corev1.Pod) string {
	if !p.DeletionTimestamp.IsZero() {
		return ""
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && cannotStart(w.Reason) {
			return fmt.Sprintf("container %q: %s: %s", c.Name, w.Reason, w.Message)
		}
	}
	if p.Status.Phase != corev1.PodPending {
		return ""
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && slices.Contains(unscheduled, c.Reason) {
			return "pod unschedulable: " + c.Message
		}
	}
	return ""
}

// cannotStart reports whether a container with this waiting reason has not run and does not recover by waiting.
func cannotStart(reason string) bool {
	switch workload.WaitingClass(reason) {
	case contract.FailureImagePull:
		return true
	case contract.FailureConfigError:
		return reason != "PostStartHookError" // the container has run
	default:
		return false
	}
}
