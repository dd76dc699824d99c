package instance

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/createfailure"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// readDatabasePods reads the pods of a database that has some and lacks an available one, and returns the delay of the
// next read. Pods of instances are not watched: a healthy database costs no request. A failure is logged, and the reconcile
// continues.
func (r *Reconciler) readDatabasePods(ctx context.Context, s *reconcileState) time.Duration {
	set := s.database
	if set == nil || set.DeletionTimestamp != nil || s.instance.Spec.Metadata.Postgres != nil ||
		set.Status.Replicas == 0 || set.Status.AvailableReplicas >= ptr.Deref(set.Spec.Replicas, 1) {
		return 0
	}
	list := &corev1.PodList{}
	labels := client.MatchingLabels(names.ComponentLabels(s.instance.Name, render.ComponentPostgres))
	if err := r.APIReader.List(ctx, list, client.InNamespace(s.instance.Namespace), labels); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list pods", "statefulset", set.Name)
		return requeueFailure
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], set) {
			s.databasePods = append(s.databasePods, list.Items[i])
		}
	}
	now := r.Clock.Now()
	requeueAfter := refreshPods(s.databasePods, now)
	if remaining := s.metadata.Deadline().Sub(now); remaining > 0 {
		requeueAfter = min(requeueAfter, remaining)
	}
	return requeueAfter
}

// refreshPods returns when to read pods again that lack something: soon after they have changed.
func refreshPods(pods []corev1.Pod, now time.Time) time.Duration {
	var changed time.Time
	for i := range pods {
		times := []metav1.Time{pods[i].CreationTimestamp}
		for _, c := range pods[i].Status.Conditions {
			times = append(times, c.LastTransitionTime)
		}
		for _, at := range times {
			if at.After(changed) {
				changed = at.Time
			}
		}
	}
	refresh := createfailure.Refresh
	if !changed.IsZero() {
		refresh = createfailure.RefreshAfter(now.Sub(changed))
	}
	return steps.MinRequeue(refresh, workload.UntilProbesDue(now, slices.Values([][]corev1.Pod{pods})))
}
