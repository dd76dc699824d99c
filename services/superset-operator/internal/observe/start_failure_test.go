package observe_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodStartFailures(t *testing.T) {
	unscheduled := func(reason, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodPending
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False", Reason: reason, Message: message}}
		}
	}
	unschedulable := unscheduled(corev1.PodReasonUnschedulable, "0/3 nodes are available")
	deleting := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	cases := map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"a missing Secret key": {
			pod:  taskPod("job", waiting("CreateContainerConfigError", `couldn't find key password in Secret default/db`)),
			want: `container "create-database": CreateContainerConfigError: couldn't find key password in Secret default/db`,
		},
		"an image that does not exist": {
			pod:  taskPod("job", waiting("ImagePullBackOff", "Back-off pulling image")),
			want: `container "create-database": ImagePullBackOff: Back-off pulling image`,
		},
		"a long message": {
			pod:  taskPod("job", waiting("ErrImagePull", strings.Repeat("failed to resolve ", 40))),
			want: (`container "create-database": ErrImagePull: ` + strings.Repeat("failed to resolve ", 40))[:253] + "...",
		},
		"an image that cannot be inspected": {
			pod:  taskPod("job", waiting("ImageInspectError", "Failed to inspect image")),
			want: `container "create-database": ImageInspectError: Failed to inspect image`,
		},
		"an image without a valid signature": {
			pod:  taskPod("job", waiting("SignatureValidationFailed", "signature validation failed")),
			want: `container "create-database": SignatureValidationFailed: signature validation failed`,
		},
		"a registry that does not answer": {
			pod:  taskPod("job", waiting("RegistryUnavailable", "connection refused")),
			want: `container "create-database": RegistryUnavailable: connection refused`,
		},
		"an error of the scheduler": {
			pod:  taskPod("job", unscheduled(corev1.PodReasonSchedulerError, "plugin failed")),
			want: "pod unschedulable: plugin failed",
		},
		"no node":                      {pod: taskPod("job", unschedulable), want: "pod unschedulable: 0/3 nodes are available"},
		"it has run":                   {pod: taskPod("job", waiting("PostStartHookError", ""))},
		"it is starting":               {pod: taskPod("job", waiting("PodInitializing", ""))},
		"it is terminating":            {pod: taskPod("job", unschedulable, deleting)},
		"it belongs to an earlier Job": {pod: taskPod("earlier", unschedulable)},
		"it runs without a failure":    {pod: taskPod("job")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := readJob(taskJob(), tc.pod).StartFailure; got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
