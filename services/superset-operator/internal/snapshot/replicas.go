package snapshot

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// IsReady reports whether a pod of the Deployment's latest generation is ready.
func IsReady(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas > 0
}

// DesiredReplicas returns the desired number of pods of a Deployment.
func DesiredReplicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// Idle reports whether a Deployment has no pods and desires none. A HorizontalPodAutoscaler does not scale up such a
// Deployment.
func Idle(d *appsv1.Deployment) bool {
	return DesiredReplicas(d) == 0 && d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == 0
}

// Active returns the number of pods that may run. A pod that failed or succeeded runs nothing, and an evicted one
// stays while its Deployment exists.
func Active(pods []corev1.Pod) int {
	n := 0
	for i := range pods {
		if !Ended(&pods[i]) {
			n++
		}
	}
	return n
}

// MainEnd returns how the main container of a task ended in a pod with other containers, for example an injected sidecar,
// which may keep the pod running; nil if it has not. It does not change any more: a container of a task does not restart.
// A pod with the main container alone ends with it, and so does its Job. It is nil then: until the phase and the Job follow, the
// kubelet shows a terminated container in a running pod.
func MainEnd(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if len(pod.Status.ContainerStatuses) < 2 {
		return nil
	}
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.Name == names.MainContainer {
			return c.State.Terminated
		}
	}
	return nil
}

// Ended reports whether a pod failed or succeeded.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// Main returns the main container; nil if there is none.
func Main(pod *corev1.PodSpec) *corev1.Container {
	for i := range pod.Containers {
		if pod.Containers[i].Name == names.MainContainer {
			return &pod.Containers[i]
		}
	}
	return nil
}

// MainImage returns the image of the main container; empty if there is none.
func MainImage(pod *corev1.PodSpec) string {
	if main := Main(pod); main != nil {
		return main.Image
	}
	return ""
}

// PodsOf returns the pods of a Job, without those of an earlier Job of the same name.
func PodsOf(job *batchv1.Job, pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p corev1.Pod) bool {
		owner := metav1.GetControllerOf(&p)
		return owner == nil || owner.UID != job.UID
	})
}
