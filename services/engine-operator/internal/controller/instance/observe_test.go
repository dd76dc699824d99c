package instance

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHasUncountedFindsPodsThatHaveNotEnded(t *testing.T) {
	pod := func(phase corev1.PodPhase, terminating bool) corev1.Pod {
		p := corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		if terminating {
			p.DeletionTimestamp = new(metav1.Now())
		}
		return p
	}
	cases := map[string]struct {
		pods    []corev1.Pod
		counted int32
		want    bool
	}{
		"no pods":                            {nil, 0, false},
		"the pod that the status counts":     {[]corev1.Pod{pod("Running", false)}, 1, false},
		"a pod that the status lacks":        {[]corev1.Pod{pod("Pending", false)}, 0, true},
		"a terminating pod":                  {[]corev1.Pod{pod("Running", true)}, 0, true},
		"one next to a pod that counts":      {[]corev1.Pod{pod("Running", false), pod("Running", true)}, 1, true},
		"a terminating pod that has ended":   {[]corev1.Pod{pod("Succeeded", true)}, 0, false},
		"an evicted pod":                     {[]corev1.Pod{pod("Failed", false)}, 0, false},
		"a terminating pod of a lost node":   {[]corev1.Pod{pod("Unknown", true)}, 0, true},
		"a stale status, the pod terminates": {[]corev1.Pod{pod("Running", true)}, 1, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hasUncounted(tc.pods, tc.counted); got != tc.want {
				t.Errorf("hasUncounted = %t, want %t", got, tc.want)
			}
		})
	}
}
