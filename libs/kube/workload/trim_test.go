package workload_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

// failures returns the failures of pods. They must be the same for pods from a cache with TrimPod.
func failures(t testing.TB, pods []corev1.Pod, now time.Time) []contract.Failure {
	t.Helper()
	trimmed := trim(t, pods)
	got := workload.Failures(pods, now)
	if diff := cmp.Diff(got, workload.Failures(trimmed, now)); diff != "" {
		t.Errorf("trimmed pods fail differently (-full +trimmed):\n%s", diff)
	}
	if full, due := workload.ProbesDue(pods, now), workload.ProbesDue(trimmed, now); !due.Equal(full) {
		t.Errorf("probes of trimmed pods are due at %s, want %s", due, full)
	}
	return got
}

func trim(t testing.TB, pods []corev1.Pod) []corev1.Pod {
	t.Helper()
	var out []corev1.Pod
	for i := range pods {
		p := pods[i].DeepCopy()
		for range 2 { // informers transform some objects twice
			if _, err := workload.TrimPod(p); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, *p)
	}
	return out
}

func TestTrimPodDropsSpec(t *testing.T) {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}},
		Spec: corev1.PodSpec{
			NodeName: "n", Volumes: []corev1.Volume{{Name: "v"}},
			Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "e"}}, ReadinessProbe: &corev1.Probe{PeriodSeconds: 7}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	want := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", ReadinessProbe: &corev1.Probe{PeriodSeconds: 7}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if diff := cmp.Diff(want, trim(t, []corev1.Pod{p})[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
