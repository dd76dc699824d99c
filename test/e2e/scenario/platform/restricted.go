package platform

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
)

// Restricted returns the number of containers in a namespace, and an error that lists those that may run as root or
// have a writable root filesystem.
func (p *Platform) Restricted(ctx context.Context, namespace string) (int, error) {
	pods, err := p.List(ctx, cluster.Pod, namespace)
	if err != nil {
		return 0, err
	}
	if len(pods) == 0 {
		return 0, fmt.Errorf("no pods in %s", namespace)
	}
	n := 0
	var problems []error
	for i := range pods {
		containers, problem := loose(&pods[i])
		n += containers
		problems = append(problems, problem)
	}
	return n, errors.Join(problems...)
}

// loose returns the number of containers in a pod, and an error that lists those that are not restricted.
func loose(pod *unstructured.Unstructured) (int, error) {
	ofPod, _, err := unstructured.NestedBool(pod.Object, "spec", "securityContext", "runAsNonRoot")
	problems := []error{err}
	n := 0
	for _, field := range []string{"initContainers", "containers"} {
		list, _, err := unstructured.NestedSlice(pod.Object, "spec", field)
		problems = append(problems, err)
		for _, entry := range list {
			container, ok := entry.(map[string]any)
			if !ok {
				continue
			}
			n++
			nonroot, found, err := unstructured.NestedBool(container, "securityContext", "runAsNonRoot")
			readOnly, _, err2 := unstructured.NestedBool(container, "securityContext", "readOnlyRootFilesystem")
			problems = append(problems, err, err2)
			if !found {
				nonroot = ofPod
			}
			if !nonroot || !readOnly {
				problems = append(problems, fmt.Errorf("pod %s, container %v: runAsNonRoot is %t, readOnlyRootFilesystem is %t",
					pod.GetName(), container["name"], nonroot, readOnly))
			}
		}
	}
	return n, errors.Join(problems...)
}
