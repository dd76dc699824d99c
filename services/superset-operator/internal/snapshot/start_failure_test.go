package snapshot_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

func TestNotReadyFailure(t *testing.T) {
	started := time.Unix(1_000_000, 0)
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	crashed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}
	for name, tc := range map[string]struct {
		state, last corev1.ContainerState
		ready       bool
		after       time.Duration
		want        string
	}{
		"it is ready":           {state: running, ready: true, after: time.Hour},
		"it starts":             {state: running, after: time.Second},
		"its probe fails":       {state: running, after: time.Minute, want: `container "page" runs but has not become ready`},
		"it crashes":            {state: waiting("CrashLoopBackOff", "back-off"), last: crashed, want: `container "page" ended with exit code 1 (Error)`},
		"its image is missing":  {state: waiting("ImagePullBackOff", "not found"), want: `container "page": ImagePullBackOff: not found`},
		"its container starts":  {state: waiting("ContainerCreating", "")},
		"it restarts at once":   {state: running, last: crashed, after: time.Second},
		"its config is missing": {state: waiting("CreateContainerConfigError", "no ConfigMap"), want: `container "page": CreateContainerConfigError: no ConfigMap`},
	} {
		t.Run(name, func(t *testing.T) {
			probe := &corev1.Probe{PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 3}
			pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "page", ReadinessProbe: probe}}}}
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				{Name: "page", State: tc.state, LastTerminationState: tc.last, Ready: tc.ready},
			}}
			if got := snapshot.NotReadyFailure([]corev1.Pod{pod}, started.Add(tc.after)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
