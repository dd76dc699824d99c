package cluster_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// start creates a pod with the annotations in a new namespace.
func start(t *testing.T, annotations map[string]string, edit ...func(*corev1.Pod)) (client.Client, *corev1.Pod) {
	t.Helper()
	c := cluster.Get(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace(t), Name: "p", Annotations: annotations},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "c", Image: "example.org/c:1", TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}
	for _, e := range edit {
		e(pod)
	}
	cl := c.Client(t, scheme.Scheme)
	if err := cl.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return cl, pod
}

// waitsWith returns a check that a container of the pod waits with the reason and the message.
func waitsWith(reason, message string) func(*corev1.Pod) error {
	return func(p *corev1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			if w := s.State.Waiting; w != nil && w.Reason == reason && w.Message == message {
				return nil
			}
		}
		return fmt.Errorf("phase %s, containers %v", p.Status.Phase, p.Status.ContainerStatuses)
	}
}

func TestContainerConfigErrorHasMessage(t *testing.T) {
	t.Parallel()
	const message = `couldn't find key "k" in Secret ns/s: "quoted"`
	cl, pod := start(t, map[string]string{
		controlplane.FailAnnotation: controlplane.FailContainerConfig, controlplane.MessageAnnotation: message,
	})
	expect.Object(t, cl, pod, waitsWith("CreateContainerConfigError", message))
}

func TestMissingImageIsNeverPulled(t *testing.T) {
	for name, image := range map[string]string{
		"at the start": "missing/superset:1", "further down": "example.org/missing/superset:1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl, pod := start(t, nil, func(p *corev1.Pod) { p.Spec.Containers[0].Image = image })
			expect.Object(t, cl, pod, waitsWith("ImagePullBackOff", "Back-off pulling image"))
			expect.Never(t, time.Second, func() error {
				if err := cl.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
					return err
				}
				return waitsWith("ImagePullBackOff", "Back-off pulling image")(pod)
			})
		})
	}
}

func TestFailedPodKeepsOutput(t *testing.T) {
	const printed = "line one\nline \"two\": 'é' $x `y`\n"
	cases := map[string]struct {
		code   string
		policy corev1.TerminationMessagePolicy
		want   string
		phase  corev1.PodPhase
	}{
		"a failure with a fallback to logs":    {code: "3", policy: corev1.TerminationMessageFallbackToLogsOnError, want: printed, phase: corev1.PodFailed},
		"a failure without a fallback to logs": {code: "3", policy: corev1.TerminationMessageReadFile, phase: corev1.PodFailed},
		"a success":                            {code: "0", policy: corev1.TerminationMessageFallbackToLogsOnError, phase: corev1.PodSucceeded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl, pod := start(t, map[string]string{
				controlplane.FinishAfterAnnotation: "10ms", controlplane.ExitCodeAnnotation: tc.code, controlplane.LogAnnotation: printed,
			}, func(p *corev1.Pod) { p.Spec.Containers[0].TerminationMessagePolicy = tc.policy })
			expect.Object(t, cl, pod, func(p *corev1.Pod) error {
				if p.Status.Phase != tc.phase {
					return fmt.Errorf("phase %s", p.Status.Phase)
				}
				return nil
			})
			end := pod.Status.ContainerStatuses[0].State.Terminated
			if end == nil || fmt.Sprint(end.ExitCode) != tc.code || end.Message != tc.want {
				t.Errorf("terminated with %+v", end)
			}
		})
	}
}

func TestSlowPodsWaitForAnnotatedTime(t *testing.T) {
	t.Parallel()
	const delay = 1500 * time.Millisecond
	startedAt := time.Now()
	cl, pod := start(t, map[string]string{
		controlplane.ReadyAfterAnnotation: delay.String(), controlplane.EndAfterAnnotation: delay.String(),
	})
	expect.Object(t, cl, pod, runs)
	if elapsed := time.Since(startedAt); elapsed < delay {
		t.Errorf("ready after %s", elapsed)
	}
	startedAt = time.Now()
	if err := cl.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	expect.Deleted(t, cl, pod)
	if elapsed := time.Since(startedAt); elapsed < delay-100*time.Millisecond {
		t.Errorf("deleted after %s", elapsed)
	}
}
