package snapshot

import appsv1 "k8s.io/api/apps/v1"

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
