package workload

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/intern"
)

// TrimPod is a transform for caches of pods. It keeps of the spec what this package reads, the node and the probes of the
// containers, and drops the managed fields: most of the memory of a pod. Equal labels and probes are stored once.
func TrimPod(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	p.ManagedFields, p.Labels = nil, intern.Map(p.Labels)
	p.Spec = corev1.PodSpec{
		NodeName: p.Spec.NodeName, InitContainers: probes(p.Spec.InitContainers), Containers: probes(p.Spec.Containers),
	}
	return p, nil
}

func probes(containers []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for i := range containers {
		c := &containers[i]
		out = append(out, corev1.Container{
			Name: c.Name, LivenessProbe: c.LivenessProbe, ReadinessProbe: c.ReadinessProbe, StartupProbe: c.StartupProbe,
		})
	}
	intern.Probes(out)
	return out
}
