package instance

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCannotStartSparesPodsThatMayServe(t *testing.T) {
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	pod := func(phase corev1.PodPhase, states ...corev1.ContainerState) corev1.Pod {
		p := corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		for _, state := range states {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{State: state})
		}
		return p
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ready := pod(corev1.PodRunning, waiting("CrashLoopBackOff"))
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	initializing := pod(corev1.PodPending, waiting("PodInitializing"))
	initializing.Status.InitContainerStatuses = []corev1.ContainerStatus{{State: running}}
	terminating := pod(corev1.PodPending, waiting("ImagePullBackOff"))
	terminating.DeletionTimestamp = new(metav1.Now())
	cases := map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"an image that cannot be pulled":     {pod(corev1.PodPending, waiting("ImagePullBackOff")), true},
		"a container that crashes":           {pod(corev1.PodRunning, waiting("CrashLoopBackOff")), true},
		"a container that has ended":         {pod(corev1.PodRunning, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}), true},
		"a pod without a node":               {pod(corev1.PodPending), true},
		"a database that recovers":           {pod(corev1.PodRunning, running), false},
		"a sidecar that runs":                {pod(corev1.PodRunning, waiting("CrashLoopBackOff"), running), false},
		"an init container that runs":        {initializing, false},
		"a pod that is ready":                {ready, false},
		"a pod that terminates":              {terminating, false},
		"a pod of a node that is not known":  {pod(corev1.PodUnknown), false},
		"a pod that runs on an unready node": {pod(corev1.PodRunning, running), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := cannotStart(&tc.pod); got != tc.want {
				t.Errorf("cannotStart = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestUpdateIsBlockedOnlyWithoutReadyPod(t *testing.T) {
	cases := map[string]struct {
		change func(*appsv1.StatefulSet)
		want   bool
	}{
		"an update that waits":          {func(*appsv1.StatefulSet) {}, true},
		"a stale status":                {func(s *appsv1.StatefulSet) { s.Generation++ }, false},
		"a ready pod":                   {func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 1 }, false},
		"an updated pod":                {func(s *appsv1.StatefulSet) { s.Status.UpdatedReplicas = 1 }, false},
		"no pod":                        {func(s *appsv1.StatefulSet) { s.Status.Replicas = 0 }, false},
		"a stopped database":            {func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(0)) }, false},
		"a StatefulSet that terminates": {func(s *appsv1.StatefulSet) { s.DeletionTimestamp = new(metav1.Now()) }, false},
		"updates by hand":               {func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }, false},
		"a partition": {func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 1}
			tc.change(set)
			if got := isUpdateBlocked(set); got != tc.want {
				t.Errorf("isUpdateBlocked = %t, want %t", got, tc.want)
			}
		})
	}
}
