package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

func waits(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}}
}

func TestTroubleOfAPod(t *testing.T) {
	oom := waits("CrashLoopBackOff", "back-off")
	oom.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled"}
	initial := waits("ErrImagePull", "no such image")
	initial.InitContainerStatuses, initial.ContainerStatuses = initial.ContainerStatuses, nil
	for name, tc := range map[string]struct {
		status  corev1.PodStatus
		class   contract.FailureClass
		message string
	}{
		"a crash loop":        {waits("CrashLoopBackOff", "back-off 10s"), contract.FailureCrashLoop, "container web: back-off 10s"},
		"no message":          {waits("ImagePullBackOff", ""), contract.FailureImagePull, "container web: ImagePullBackOff"},
		"an init container":   {initial, contract.FailureImagePull, "container web: no such image"},
		"a config error":      {waits("CreateContainerConfigError", "secret not found"), contract.FailureConfigError, "container web: secret not found"},
		"out of memory":       {oom, contract.FailureOOMKilled, "container web: ran out of memory"},
		"it is being created": {waits("ContainerCreating", ""), "", ""},
		"evicted":             {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk"}, contract.FailureEvicted, "disk"},
		"failed":              {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Error"}, contract.FailurePodFailed, "Error"},
		"its node is lost":    {corev1.PodStatus{Reason: "NodeLost", Message: "node n"}, contract.FailureNodeLost, "node n"},
		"no node has room": {corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes",
		}}}, contract.FailureUnschedulable, "0/3 nodes"},
		"healthy": {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "web", Ready: true}}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			class, message := trouble(&corev1.Pod{Status: tc.status})
			if class != tc.class || message != tc.message {
				t.Errorf("got %q, %q", class, message)
			}
		})
	}
}

func TestFailuresAreSummedUpByClass(t *testing.T) {
	var pods []corev1.Pod
	for _, name := range []string{"a", "b", "c", "d"} {
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: waits("CrashLoopBackOff", "m")})
	}
	pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "e"}}, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "f"}, Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Error"}})
	want := []contract.Failure{
		{Class: contract.FailureCrashLoop, Count: 4, Examples: []string{"a", "b", "c"}, Message: "container web: m"},
		{Class: contract.FailurePodFailed, Count: 1, Examples: []string{"f"}, Message: "Error"},
	}
	if diff := cmp.Diff(want, failures(pods)); diff != "" {
		t.Error(diff)
	}
}

func TestWritersComeFromManagedFields(t *testing.T) {
	u := &unstructured.Unstructured{}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "superset-operator", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Suspended\"}":{}}}}`)},
		{Manager: "flotilla-conditions", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{"f:status":{}},"k:nonsense":{}}}}`)},
		{Manager: "broken", FieldsV1: metav1.NewFieldsV1(`[]`)},
		{Manager: "empty"},
	})
	want := map[string]string{"Suspended": "superset-operator", "Available": "flotilla-conditions"}
	if diff := cmp.Diff(want, Writers(u)); diff != "" {
		t.Error(diff)
	}
}
