package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Seen is what a caller knows about a workload beside the workload itself.
type Seen struct {
	// AppliedGeneration is the generation that the caller's last apply returned, or zero.
	AppliedGeneration int64
	// Pods are the workload's pods as the caller's cache has them, or nil when it does not watch pods.
	Pods []corev1.Pod
}

// Object identifies the custom resource that is observed.
func Object(cr metav1.Object, gvk schema.GroupVersionKind) contract.Object {
	return contract.Object{
		GroupVersionKind: contract.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind},
		Namespace:        cr.GetNamespace(),
		Name:             cr.GetName(),
		UID:              string(cr.GetUID()),
		Generation:       cr.GetGeneration(),
		ResourceVersion:  cr.GetResourceVersion(),
	}
}

// Deployment fills base from d, which may be nil. The caller sets Name, Role,
// Routed, MinAvailable and Desired (what the spec declares; negative takes the
// workload's own count, for autoscaled ones); everything else comes from d.
func Deployment(base contract.Unit, d *appsv1.Deployment, seen Seen) contract.Unit {
	return base
}

// StatefulSet fills base from s, which may be nil, as [Deployment] does.
func StatefulSet(base contract.Unit, s *appsv1.StatefulSet, seen Seen) contract.Unit {
	return base
}

// Job says where the task called name stands; nil is pending.
func Job(name string, j *batchv1.Job) contract.Job {
	return contract.Job{Name: name}
}

// Failures groups the troubles of pods by class.
func Failures(pods []corev1.Pod) []contract.Failure {
	return nil
}
