// Package predicates filters the watch events of the children of a Superset.
package predicates

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// Child ignores updates that cannot change a decision.
func Child() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return MetadataDiffers(e.ObjectOld, e.ObjectNew) || contentDiffers(e.ObjectOld, e.ObjectNew)
	}}
}

// Spec ignores status updates, such as those of an Ingress controller.
func Spec() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return MetadataDiffers(e.ObjectOld, e.ObjectNew) }}
}

// Pod ignores most events of task pods, since the Job has the result of a task. It passes an update that changes the
// reason why the pod cannot start, the end of its main container while others run on, and the end of a pod, which may
// have outlived its Job.
func Pod() predicate.Predicate {
	isTask := func(obj client.Object) bool {
		return obj.GetLabels()[v1alpha1.LabelComponent] == v1alpha1.TaskComponentValue
	}
	update := Child()
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			pod, ok := e.Object.(*corev1.Pod)
			return !isTask(e.Object) || ok && snapshot.MainEnd(pod) != nil // after a new list
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			if !isTask(e.ObjectNew) {
				return update.Update(e)
			}
			old, okOld := e.ObjectOld.(*corev1.Pod)
			now, okNow := e.ObjectNew.(*corev1.Pod)
			return !okOld || !okNow || snapshot.Ended(old) != snapshot.Ended(now) || snapshot.MainEnd(old) == nil && snapshot.MainEnd(now) != nil ||
				snapshot.StartFailure([]corev1.Pod{*old}) != snapshot.StartFailure([]corev1.Pod{*now})
		},
	}
}

// MetadataDiffers reports whether metadata that a decision depends on differs.
func MetadataDiffers(old, now client.Object) bool {
	return old.GetUID() != now.GetUID() || old.GetGeneration() != now.GetGeneration() ||
		old.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() ||
		!equality.Semantic.DeepEqual(old.GetLabels(), now.GetLabels()) ||
		!equality.Semantic.DeepEqual(old.GetAnnotations(), now.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(old.GetOwnerReferences(), now.GetOwnerReferences())
}

// contentDiffers compares the fields that the controller reads, by kind.
func contentDiffers(old, now client.Object) bool {
	switch now := now.(type) {
	case *appsv1.Deployment:
		old, ok := old.(*appsv1.Deployment)
		return !ok || !sameRollout(&old.Status, &now.Status)
	case *batchv1.Job:
		old, ok := old.(*batchv1.Job)
		return !ok || !equality.Semantic.DeepEqual(old.Status.Conditions, now.Status.Conditions)
	case *corev1.Service:
		old, ok := old.(*corev1.Service)
		return !ok || !equality.Semantic.DeepEqual(old.Spec, now.Spec)
	case *corev1.ConfigMap:
		old, ok := old.(*corev1.ConfigMap)
		return !ok || !equality.Semantic.DeepEqual(old.Data, now.Data)
	case *corev1.Pod:
		old, ok := old.(*corev1.Pod)
		return !ok || !samePod(&old.Status, &now.Status)
	case *autoscalingv2.HorizontalPodAutoscaler:
		old, ok := old.(*autoscalingv2.HorizontalPodAutoscaler)
		return !ok || !equality.Semantic.DeepEqual(old.Spec, now.Spec)
	case *policyv1.PodDisruptionBudget:
		old, ok := old.(*policyv1.PodDisruptionBudget)
		return !ok || !equality.Semantic.DeepEqual(old.Spec, now.Spec)
	case *corev1.ServiceAccount:
		return false
	}
	return true
}

func sameRollout(a, b *appsv1.DeploymentStatus) bool {
	state := func(s *appsv1.DeploymentStatus) []any {
		conditions := make([]string, 0, 2*len(s.Conditions))
		for _, c := range s.Conditions {
			conditions = append(conditions, string(c.Type)+"="+string(c.Status), c.Reason)
		}
		return []any{
			s.ObservedGeneration, s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas,
			s.UnavailableReplicas, s.TerminatingReplicas, conditions,
		}
	}
	return equality.Semantic.DeepEqual(state(a), state(b))
}

func samePod(a, b *corev1.PodStatus) bool {
	return a.Phase == b.Phase && a.Reason == b.Reason &&
		equality.Semantic.DeepEqual(summarize(a.Conditions), summarize(b.Conditions)) &&
		equality.Semantic.DeepEqual(a.ContainerStatuses, b.ContainerStatuses) &&
		equality.Semantic.DeepEqual(a.InitContainerStatuses, b.InitContainerStatuses)
}

func summarize(list []corev1.PodCondition) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(list))
	for _, c := range list {
		out = append(out, metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason})
	}
	return out
}
