package workload

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Inputs are the caller's inputs in addition to the workload itself.
type Inputs struct {
	// AppliedGeneration is the generation that the caller's last apply returned, or
	// zero. It matters while the cache still shows an older one.
	AppliedGeneration int64
	// Pods are the workload's pods as the caller's cache has them, or nil when it does not watch pods.
	Pods []corev1.Pod
	// Now is the caller's clock, see [Failures]; the zero time is allowed.
	Now time.Time
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
func Deployment(base contract.Unit, d *appsv1.Deployment, in Inputs) contract.Unit {
	base.Kind = "Deployment"
	if d == nil {
		return absent(base, in)
	}
	s := d.Status
	base.Observed = observed(s.ObservedGeneration, d.Generation, in)
	base.Desired = desired(base.Desired, d.Spec.Replicas)
	base.Current, base.Updated = s.Replicas, s.UpdatedReplicas
	base.Ready, base.Available = s.ReadyReplicas, s.AvailableReplicas
	base = withPods(base, in, s.TerminatingReplicas)
	if !base.Observed {
		return base // its conditions describe an older spec
	}
	for _, c := range s.Conditions {
		switch {
		case c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded":
			base.Stalled = true
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			// Copied from the newest ReplicaSet, which retries and then clears it. A
			// StatefulSet has no such condition, only events.
			base.Failures = append(base.Failures, contract.Failure{
				Class: contract.FailureCreateFailed, Count: max(base.Desired-base.Current, 1), Message: CreateFailure(c.Message),
			})
		}
	}
	return base
}

// StatefulSet fills base from s, which may be nil, as [Deployment] does.
func StatefulSet(base contract.Unit, s *appsv1.StatefulSet, in Inputs) contract.Unit {
	base.Kind = "StatefulSet"
	if s == nil {
		return absent(base, in)
	}
	base.Observed = observed(s.Status.ObservedGeneration, s.Generation, in)
	base.Desired = desired(base.Desired, s.Spec.Replicas)
	base.Current, base.Updated = s.Status.Replicas, s.Status.UpdatedReplicas
	base.Ready, base.Available = s.Status.ReadyReplicas, s.Status.AvailableReplicas
	return withPods(base, in, nil)
}

// absent returns a unit whose workload does not exist. Its pods may still exist.
func absent(base contract.Unit, in Inputs) contract.Unit {
	base.Present, base.Observed, base.Stalled = false, false, false
	base.Desired = max(base.Desired, 0)
	base.Current, base.Updated, base.Ready, base.Available = 0, 0, 0, 0
	base = withPods(base, in, nil)
	base.Present = false
	return base
}

func withPods(base contract.Unit, in Inputs, terminating *int32) contract.Unit {
	base.Present, base.Stalled = true, false
	base.Failures = Failures(in.Pods, in.Now)
	base.Terminating = ptr.Deref(terminating, 0)
	if in.Pods == nil {
		return base
	}
	base.Terminating = 0
	for i := range in.Pods {
		if in.Pods[i].DeletionTimestamp != nil {
			base.Terminating++
		}
	}
	return base
}

func observed(observedGeneration, generation int64, in Inputs) bool {
	return observedGeneration >= max(generation, in.AppliedGeneration)
}

func desired(declared int32, own *int32) int32 {
	if declared >= 0 {
		return declared
	}
	return ptr.Deref(own, 1)
}
