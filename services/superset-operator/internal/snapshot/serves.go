package snapshot

import appsv1 "k8s.io/api/apps/v1"

// Serves is true when a pod of the newest spec's Deployment is ready.
func Serves(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas > 0
}

// Asked is how many pods a Deployment asks for.
func Asked(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// Idle is true for a Deployment that has no pods and asks for none. No autoscaler of Kubernetes starts one there either.
func Idle(d *appsv1.Deployment) bool {
	return Asked(d) == 0 && d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == 0
}
