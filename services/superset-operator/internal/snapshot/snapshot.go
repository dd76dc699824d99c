package snapshot

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Snapshot holds the objects of one Superset. Maps lack what does not exist. The
// objects come from a cache and must not be changed.
type Snapshot struct {
	ServiceAccount *corev1.ServiceAccount
	// Deployments, Services and ConfigMaps are by component name, for example
	// "web-server"; ConfigMaps of tasks are by task name, for example "migrate".
	Deployments map[string]*appsv1.Deployment
	Services    map[string]*corev1.Service
	ConfigMaps  map[string]*corev1.ConfigMap
	// Jobs are by task name.
	Jobs map[string]*batchv1.Job
	// Pods are by component name; those of tasks are left out.
	Pods map[string][]corev1.Pod
}
