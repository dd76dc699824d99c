package snapshot

import appsv1 "k8s.io/api/apps/v1"

// Serves is true when a pod of the newest spec's Deployment is ready.
func Serves(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas > 0
}
