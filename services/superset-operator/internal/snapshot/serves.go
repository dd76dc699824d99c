package snapshot

import appsv1 "k8s.io/api/apps/v1"

// Serves reports whether a pod of the Deployment's latest generation is ready.
func Serves(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas > 0
}

// Asked returns the desired number of pods of a Deployment.
func Asked(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// Idle reports whether a Deployment has no pods and desires none. No autoscaler of Kubernetes starts one there either.
func Idle(d *appsv1.Deployment) bool {
	return Asked(d) == 0 && d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == 0
}
