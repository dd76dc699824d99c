package instance

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// replaceBrokenPod deletes the database pod if it cannot start and blocks the update that would fix it, for example of
// a wrong image: Kubernetes waits until such a pod is ready before it replaces it (kubernetes issue 67250). It returns the
// delay of the next check, because a pod fails without a watch event. The volume stays.
func (r *Reconciler) replaceBrokenPod(ctx context.Context, s *reconcileState) (time.Duration, error) {
	if s.database == nil || !isUpdateBlocked(s.database) {
		return 0, nil
	}
	// Read after the pods: a pod that this version does not want has an old revision for certain.
	set := &appsv1.StatefulSet{}
	if err := r.APIReader.Get(ctx, client.ObjectKeyFromObject(s.database), set); err != nil {
		return 0, fmt.Errorf("get statefulset %q: %w", s.database.Name, err)
	}
	if set.UID != s.database.UID || !isUpdateBlocked(set) {
		return requeuePods, nil
	}
	for i := range s.databasePods {
		pod := &s.databasePods[i]
		if pod.Labels[appsv1.StatefulSetRevisionLabel] == set.Status.UpdateRevision || !cannotStart(pod) {
			continue
		}
		unchanged := client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}
		if err := r.Client.Delete(ctx, pod, unchanged); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("delete pod %q, which cannot start: %w", pod.Name, err)
		}
		ctrl.LoggerFrom(ctx).Info("Deleted a pod that could not start, for its update", "pod", pod.Name, "revision", set.Status.UpdateRevision)
	}
	return requeuePods, nil
}

// isUpdateBlocked reports whether the StatefulSet has a pending update and no pod that is ready.
func isUpdateBlocked(set *appsv1.StatefulSet) bool {
	st, update := set.Status, set.Spec.UpdateStrategy
	if update.Type == appsv1.OnDeleteStatefulSetStrategyType || update.RollingUpdate != nil && ptr.Deref(update.RollingUpdate.Partition, 0) > 0 {
		return false // a new pod may have the old revision
	}
	return set.DeletionTimestamp == nil && ptr.Deref(set.Spec.Replicas, 1) > 0 && st.ObservedGeneration == set.Generation &&
		st.Replicas > 0 && st.ReadyReplicas == 0 && st.UpdatedReplicas == 0
}

// cannotStart reports whether no container of the pod runs. One that runs may still become ready: a database recovers.
func cannotStart(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodUnknown {
		return false
	}
	isRunning := func(c corev1.ContainerStatus) bool { return c.Ready || c.State.Running != nil }
	isReady := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }
	containers := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	return !slices.ContainsFunc(containers, isRunning) && !slices.ContainsFunc(pod.Status.Conditions, isReady)
}
