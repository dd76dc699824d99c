package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Restricted returns the number of containers in a namespace, and an error that lists those that may run as root or
// have a writable root filesystem.
func (p *Platform) Restricted(ctx context.Context, namespace string) (int, error) {
	var pods corev1.PodList
	if err := p.Client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return 0, fmt.Errorf("list pods in %s: %w", namespace, err)
	}
	if len(pods.Items) == 0 {
		return 0, fmt.Errorf("no pods in %s", namespace)
	}
	n := 0
	var problems []error
	for i := range pods.Items {
		containers, problem := loose(&pods.Items[i])
		n += containers
		problems = append(problems, problem)
	}
	return n, errors.Join(problems...)
}

// loose returns the number of containers in a pod, and an error that lists those that are not restricted.
func loose(pod *corev1.Pod) (int, error) {
	var problems []error
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for i := range containers {
		var own corev1.SecurityContext
		if containers[i].SecurityContext != nil {
			own = *containers[i].SecurityContext
		}
		if own.RunAsNonRoot == nil && pod.Spec.SecurityContext != nil {
			own.RunAsNonRoot = pod.Spec.SecurityContext.RunAsNonRoot
		}
		if !ptr.Deref(own.RunAsNonRoot, false) || !ptr.Deref(own.ReadOnlyRootFilesystem, false) {
			problems = append(problems, fmt.Errorf("pod %s, container %s: runAsNonRoot is %t, readOnlyRootFilesystem is %t",
				pod.Name, containers[i].Name, ptr.Deref(own.RunAsNonRoot, false), ptr.Deref(own.ReadOnlyRootFilesystem, false)))
		}
	}
	return len(containers), errors.Join(problems...)
}
