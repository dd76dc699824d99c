package evidence

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// waiting maps the reasons of a waiting container to failure classes.
var waiting = map[string]contract.FailureClass{
	"CrashLoopBackOff":           contract.FailureCrashLoop,
	"ImagePullBackOff":           contract.FailureImagePull,
	"ErrImagePull":               contract.FailureImagePull,
	"InvalidImageName":           contract.FailureImagePull,
	"ErrImageNeverPull":          contract.FailureImagePull,
	"CreateContainerConfigError": contract.FailureConfigError,
	"CreateContainerError":       contract.FailureConfigError,
	"RunContainerError":          contract.FailureConfigError,
}

// trouble says what is wrong with a pod; an empty class means nothing that the pod itself shows.
func trouble(pod *corev1.Pod) (contract.FailureClass, string) {
	if pod.Status.Phase == corev1.PodFailed {
		class := contract.FailurePodFailed
		if pod.Status.Reason == "Evicted" {
			class = contract.FailureEvicted
		}
		return class, cmp.Or(pod.Status.Message, pod.Status.Reason)
	}
	if pod.Status.Reason == "NodeLost" {
		return contract.FailureNodeLost, pod.Status.Message
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return contract.FailureUnschedulable, c.Message
		}
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if class, message := containerTrouble(s); class != "" {
			return class, "container " + s.Name + ": " + message
		}
	}
	return "", ""
}

func containerTrouble(s corev1.ContainerStatus) (contract.FailureClass, string) {
	if last := s.LastTerminationState.Terminated; last != nil && last.Reason == "OOMKilled" && !s.Ready {
		return contract.FailureOOMKilled, "ran out of memory"
	}
	if w := s.State.Waiting; w != nil {
		if class, known := waiting[w.Reason]; known {
			return class, cmp.Or(w.Message, w.Reason)
		}
	}
	return "", ""
}

// failures sums up what is wrong with the pods of one workload, in the order of the classes' names.
func failures(pods []corev1.Pod) []contract.Failure {
	const examples = 3
	byClass := map[contract.FailureClass]*contract.Failure{}
	for i := range pods {
		class, message := trouble(&pods[i])
		if class == "" {
			continue
		}
		f := byClass[class]
		if f == nil {
			f = &contract.Failure{Class: class, Message: message}
			byClass[class] = f
		}
		f.Count++
		if len(f.Examples) < examples {
			f.Examples = append(f.Examples, pods[i].Name)
		}
	}
	var out []contract.Failure
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		out = append(out, *byClass[class])
	}
	return out
}
