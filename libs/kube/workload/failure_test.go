package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

func pod(name string, status corev1.PodStatus) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: status}
}

func waitingFor(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func lastEnded(c corev1.ContainerStatus, reason string, code int32) corev1.ContainerStatus {
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, Message: "password=hunter2"}
	return c
}

func running(containers ...corev1.ContainerStatus) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: containers}
}

func disrupted(reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: "of " + reason}
}

// notReady returns a running pod that is not ready for a reason, with the given status of ContainersReady.
func notReady(reason string, containers corev1.ConditionStatus) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason},
		{Type: corev1.ContainersReady, Status: containers},
	}}
}

// failureRow is the status of a pod with its failure.
type failureRow struct {
	status  corev1.PodStatus
	class   contract.FailureClass // empty: no failure
	message string
}

func checkFailures(t *testing.T, rows map[string]failureRow) {
	t.Helper()
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			var want []contract.Failure
			if tc.class != "" {
				want = []contract.Failure{{Class: tc.class, Count: 1, Examples: []string{"p"}, Message: tc.message}}
			}
			if diff := cmp.Diff(want, failures(t, []corev1.Pod{pod("p", tc.status)}, time.Time{})); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

// terminated returns the status of a container that does not run.
func terminated(reason string, code int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}}}
}

func TestFailureOfContainers(t *testing.T) {
	up := corev1.ContainerStatus{Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	down := up
	down.Ready = false
	checkFailures(t, map[string]failureRow{
		"healthy":  {running(up), "", ""},
		"starting": {running(down), "", ""},
		"healthy again after an out-of-memory kill": {running(lastEnded(up, "OOMKilled", 137)), "", ""},
		"crash loop": {
			running(lastEnded(waitingFor("CrashLoopBackOff", "back-off"), "Error", 1)), contract.FailureCrashLoop,
			`container "main" ended with exit code 1 (Error)`,
		},
		"crash loop by lack of memory": {
			running(lastEnded(waitingFor("CrashLoopBackOff", "back-off"), "OOMKilled", 137)), contract.FailureCrashLoop,
			`container "main" ended with exit code 137 (OOMKilled)`,
		},
		"image pull": {
			corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waitingFor("ImagePullBackOff", "no such image")}},
			contract.FailureImagePull, `container "main": ImagePullBackOff: no such image`,
		},
		"image pull of an init container": {
			corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{waitingFor("ErrImagePull", "x")}, ContainerStatuses: []corev1.ContainerStatus{waitingFor("PodInitializing", "")}},
			contract.FailureImagePull, `container "main": ErrImagePull: x`,
		},
		"missing secret": {
			running(waitingFor("CreateContainerConfigError", `secret "db" not found`)), contract.FailureConfigError,
			`container "main": CreateContainerConfigError: secret "db" not found`,
		},
		"the worst of several containers": {
			running(waitingFor("CreateContainerConfigError", ""), lastEnded(waitingFor("CrashLoopBackOff", ""), "Error", 2)),
			contract.FailureCrashLoop, `container "main" ended with exit code 2 (Error)`,
		},
		"killed for memory and not ready yet": {
			running(lastEnded(down, "OOMKilled", 137)), contract.FailureOOMKilled, `container "main" ended with exit code 137 (OOMKilled)`,
		},
		"killed for memory just now": {running(terminated("OOMKilled", 137)), contract.FailureOOMKilled, `container "main" ended with exit code 137 (OOMKilled)`},
	})
}

func TestFailureOfPodStatus(t *testing.T) {
	unschedulable := corev1.PodCondition{Type: corev1.PodScheduled, Status: "False", Reason: "Unschedulable", Message: "0/3 nodes are available"}
	checkFailures(t, map[string]failureRow{
		"finished":            {corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{terminated("Completed", 0)}}, "", ""},
		"creating containers": {corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{waitingFor("ContainerCreating", "")}}, "", ""},
		"failed": {
			corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{terminated("Error", 3)}},
			contract.FailurePodFailed, `container "main" ended with exit code 3 (Error)`,
		},
		"failed without containers": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded"}, contract.FailurePodFailed, "DeadlineExceeded"},
		"failed for memory":         {corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{terminated("OOMKilled", 137)}}, contract.FailureOOMKilled, `container "main" ended with exit code 137 (OOMKilled)`},
		"evicted":                   {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}, contract.FailureEvicted, "low on memory"},
		"unschedulable":             {corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{unschedulable}}, contract.FailureUnschedulable, "0/3 nodes are available"},
		"gated":                     {corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False", Reason: "SchedulingGated"}}}, "", ""},
		"preempted": {
			corev1.PodStatus{Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{disrupted("PreemptionByScheduler")}}, contract.FailureEvicted, "of PreemptionByScheduler",
		},
		"collected with its node": {
			corev1.PodStatus{Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{disrupted("DeletionByPodGC")}}, contract.FailureNodeLost, "of DeletionByPodGC",
		},
		"about to be disrupted":        {corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{disrupted("EvictionByEvictionAPI")}}, "", ""},
		"its node is not ready":        {notReady("", corev1.ConditionTrue), contract.FailureNodeLost, `node "" is not ready`},
		"its readiness gate is false":  {notReady("ReadinessGatesNotReady", corev1.ConditionTrue), "", ""},
		"its containers are not ready": {notReady("ContainersNotReady", corev1.ConditionFalse), "", ""},
		"on a lost node":               {corev1.PodStatus{Phase: corev1.PodRunning, Reason: "NodeLost", Message: "node n1 is unresponsive"}, contract.FailureNodeLost, "node n1 is unresponsive"},
	})
}

func TestFailuresOmitTerminatingPods(t *testing.T) {
	terminating := func(name string, status corev1.PodStatus) corev1.Pod {
		p := pod(name, status)
		p.DeletionTimestamp = &metav1.Time{}
		return p
	}
	got := failures(t, []corev1.Pod{
		terminating("a", running(waitingFor("CrashLoopBackOff", ""))),
		terminating("b", corev1.PodStatus{Reason: "NodeLost"}),
	}, time.Time{})
	want := []contract.Failure{{Class: contract.FailureNodeLost, Count: 1, Examples: []string{"b"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestFailuresAreGroupedAndBounded(t *testing.T) {
	var pods []corev1.Pod
	for i := range 5 {
		pods = append(pods, pod(fmt.Sprint("c", i), running(waitingFor("CrashLoopBackOff", strings.Repeat("é\n", 2000)))))
	}
	pods = append(pods, pod("i", running(waitingFor("ErrImagePull", "x"))))
	got := failures(t, pods, time.Time{})
	if len(got) != 2 || got[0].Class != contract.FailureCrashLoop || got[0].Count != 5 || got[1].Class != contract.FailureImagePull {
		t.Fatalf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"c0", "c1", "c2"}, got[0].Examples); diff != "" {
		t.Errorf("examples (-want +got):\n%s", diff)
	}
	if m := got[0].Message; len(m) > 1024 || strings.ContainsAny(m, "\n\r") || strings.ToValidUTF8(m, "") != m {
		t.Errorf("message of %d bytes: %q", len(m), m)
	}
}

func TestFailuresIgnorePodOrder(t *testing.T) {
	reasons := []string{"CrashLoopBackOff", "ErrImagePull", "CreateContainerError", "ContainerCreating"}
	rapid.Check(t, func(t *rapid.T) {
		var pods []corev1.Pod
		for i, reason := range rapid.SliceOfN(rapid.SampledFrom(reasons), 0, 8).Draw(t, "reasons") {
			pods = append(pods, pod(fmt.Sprint("p", i), running(waitingFor(reason, fmt.Sprint(i)))))
		}
		want := workload.Failures(slices.Clone(pods), time.Time{})
		if diff := cmp.Diff(want, workload.Failures(rapid.Permutation(pods).Draw(t, "order"), time.Time{})); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
}

func TestWaitingClass(t *testing.T) {
	for reason, want := range map[string]contract.FailureClass{
		"ErrImagePull": contract.FailureImagePull, "CreateContainerConfigError": contract.FailureConfigError,
		"ContainerCreating": "", "": "",
	} {
		if got := workload.WaitingClass(reason); got != want {
			t.Errorf("WaitingClass(%q) is %q, want %q", reason, got, want)
		}
	}
}
