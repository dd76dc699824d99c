package observe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

const image = "apache/superset:6.0.0"

func taskJob(edit ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job", Annotations: map[string]string{
		v1alpha1.AnnotationConfigChecksum: "sha256:c", v1alpha1.AnnotationPodSpecHash: "sha256:p", v1alpha1.AnnotationAttempt: "2",
	}}}
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sidecar", Image: "other"}, {Name: "superset", Image: image}}
	for _, e := range edit {
		e(j)
	}
	return j
}

func failed(j *batchv1.Job) {
	j.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobFailureTarget, Status: "True", Reason: "BackoffLimitExceeded"},
		{Type: batchv1.JobFailed, Status: "True", Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit"},
	}
}

func taskPod(owner types.UID, edit ...func(*corev1.Pod)) corev1.Pod {
	controller := true
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: &controller}}}}
	for _, e := range edit {
		e(&p)
	}
	return p
}

func terminated(code int32, text string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "sidecar", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
			{Name: "superset", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: text}}},
		}
	}
}

func waiting(reason, text string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
			Name: "create-database", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: text}},
		}}
	}
}

func readJob(j *batchv1.Job, pods ...corev1.Pod) lifecycle.Job {
	return observe.Jobs(&snapshot.Snapshot{
		Jobs:     map[string]*batchv1.Job{"migrate": j},
		TaskPods: map[string][]corev1.Pod{"migrate": pods},
	})["migrate"]
}

// TestFormerPodsMayRunWithoutTheirJob lists the pods of deleted Jobs that have not ended, and no others.
func TestFormerPodsMayRunWithoutTheirJob(t *testing.T) {
	named := func(name, component string, owner types.UID, phase corev1.PodPhase) corev1.Pod {
		return taskPod(owner, func(p *corev1.Pod) {
			p.Name, p.Status.Phase = name, phase
			p.Labels = map[string]string{v1alpha1.LabelComponent: component, v1alpha1.LabelTask: "migrate"}
		})
	}
	const task = v1alpha1.TaskComponentValue
	orphan := named("orphan", task, "", corev1.PodRunning)
	orphan.OwnerReferences = nil
	pods := []corev1.Pod{
		named("current", task, "job", corev1.PodRunning), named("other", "web-server", "former", corev1.PodRunning),
		named("succeeded", task, "former", corev1.PodSucceeded), named("failed", task, "former", corev1.PodFailed),
		named("running", task, "former", corev1.PodRunning), named("pending", task, "former", corev1.PodPending), orphan,
	}
	s := &snapshot.Snapshot{Jobs: map[string]*batchv1.Job{"migrate": taskJob()}, TaskPods: map[string][]corev1.Pod{"migrate": pods}}
	if diff := cmp.Diff([]string{"orphan", "pending", "running"}, observe.FormerPods(s)); diff != "" {
		t.Errorf("with a Job (-want +got):\n%s", diff)
	}
	s.Jobs = nil
	if diff := cmp.Diff([]string{"current", "orphan", "pending", "running"}, observe.FormerPods(s)); diff != "" {
		t.Errorf("without a Job (-want +got):\n%s", diff)
	}
}

func TestJobHasChecksumAndAttempt(t *testing.T) {
	got := readJob(taskJob())
	if got.UID != "job" || got.Checksum != "sha256:c" || got.PodHash != "sha256:p" || got.Attempt != 2 || got.Image != image || got.Deleting {
		t.Errorf("got %+v", got)
	}
}

func TestActiveJobWithoutPod(t *testing.T) {
	if got := readJob(taskJob()); !got.Podless {
		t.Errorf("without a pod: got %+v", got)
	}
	terminating := taskPod("job", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} })
	if got := readJob(taskJob(), terminating); !got.Podless {
		t.Errorf("with a terminating pod: got %+v", got)
	}
	if got := readJob(taskJob(), terminating, taskPod("job")); got.Podless {
		t.Errorf("with a pod: got %+v", got)
	}
}

func TestW22FailedJobReportsExitCodeAndLog(t *testing.T) {
	got := readJob(taskJob(failed),
		taskPod("earlier", terminated(9, "of an earlier Job")),
		taskPod("job", terminated(3, "line 1\npassword=hunter2\nrelation does not exist")))
	if got.State != lifecycle.JobFailed || got.ExitCode == nil || *got.ExitCode != 3 {
		t.Fatalf("got %+v", got)
	}
	if !strings.HasSuffix(got.LogTail, "relation does not exist") || strings.Contains(got.LogTail, "hunter2") {
		t.Errorf("log tail %q", got.LogTail)
	}
	if got.Message != `container "superset" ended with exit code 3: relation does not exist` {
		t.Errorf("message %q", got.Message)
	}
}

// TestJobEndsWithMainContainer has a sidecar that an admission webhook injected, and that does not end.
func TestJobEndsWithMainContainer(t *testing.T) {
	at := metav1.NewTime(time.Unix(60, 0))
	beside := func(code int32, text string) corev1.Pod {
		return taskPod("job", terminated(code, text), func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			p.Status.ContainerStatuses[1].State.Terminated.FinishedAt = at
		})
	}
	rotate := func(j *batchv1.Job) { j.Labels = map[string]string{v1alpha1.LabelTask: "rotate"} }
	got := readJob(taskJob(rotate), beside(0, `{"columns": 9, "values": 13, "reencrypted": 12}`))
	if got.State != lifecycle.JobSucceeded || !got.FinishedAt.Equal(&at) || got.StoredSecrets == nil || got.StoredSecrets.Values != 13 {
		t.Errorf("exit code 0: got %+v", got)
	}
	got = readJob(taskJob(), beside(3, "relation does not exist"))
	if got.State != lifecycle.JobFailed || !got.FinishedAt.Equal(&at) || got.ExitCode == nil || *got.ExitCode != 3 ||
		got.Message != `container "superset" ended with exit code 3: relation does not exist` {
		t.Errorf("exit code 3: got %+v", got)
	}
	// Until the Job has its condition, the pod may end too.
	for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
		ended := beside(0, "")
		ended.Status.Phase = phase
		ended.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		if got := readJob(taskJob(), ended); got.State != lifecycle.JobSucceeded {
			t.Errorf("the pod is %s: got %+v", phase, got)
		}
	}
	alone := beside(0, "")
	alone.Status.ContainerStatuses = alone.Status.ContainerStatuses[1:]
	former := beside(0, "")
	former.OwnerReferences[0].UID = "earlier"
	for name, pod := range map[string]corev1.Pod{"the kubelet stops the pod, and the Job follows": alone, "the pod of an earlier Job": former} {
		if got := readJob(taskJob(), pod); got.State != lifecycle.JobActive {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestFailedSidecarFailsNoTask has a Job that failed because of its sidecar, after or before it was observed.
func TestFailedSidecarFailsNoTask(t *testing.T) {
	pod := func(code int32) corev1.Pod {
		return taskPod("job", terminated(code, "text"), func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			p.Status.ContainerStatuses[0].State.Terminated.ExitCode = 137
		})
	}
	if got := readJob(taskJob(failed), pod(0)); got.State != lifecycle.JobSucceeded {
		t.Errorf("the main container succeeded: got %+v", got)
	}
	if got := readJob(taskJob(failed), pod(3)); got.State != lifecycle.JobFailed {
		t.Errorf("the main container failed: got %+v", got)
	}
}

// TestDeadlineIsNotTheEndOfTheMainContainer kills the main container at the deadline of the Job, and after it ended.
func TestDeadlineIsNotTheEndOfTheMainContainer(t *testing.T) {
	deadline := func(at int64) *batchv1.Job {
		return taskJob(func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{
				Type: batchv1.JobFailureTarget, Status: "True", Reason: "DeadlineExceeded", LastTransitionTime: metav1.NewTime(time.Unix(at, 0)),
			}}
		})
	}
	killed := taskPod("job", terminated(137, ""), func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses[1].State.Terminated.FinishedAt = metav1.NewTime(time.Unix(60, 0))
	})
	if got := readJob(deadline(30), killed); got.State != lifecycle.JobActive {
		t.Errorf("killed at the deadline: got %+v, want that the Job fails", got)
	}
	if got := readJob(deadline(90), killed); got.State != lifecycle.JobFailed {
		t.Errorf("ended before the deadline: got %+v", got)
	}
}

func TestFailedJobWithoutPod(t *testing.T) {
	got := readJob(taskJob(failed))
	if got.ExitCode != nil || got.LogTail != "" || got.Message != "BackoffLimitExceeded: Job has reached the specified backoff limit" {
		t.Errorf("got %+v", got)
	}
}

// TestTaskCounts reads the counts that the program for stored secrets writes to its termination message.
func TestTaskCounts(t *testing.T) {
	done := func(j *batchv1.Job) {
		j.Labels = map[string]string{v1alpha1.LabelTask: "migrate"}
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
	}
	rotate := func(j *batchv1.Job) { done(j); j.Labels[v1alpha1.LabelTask] = "rotate" }
	const text = `{"columns": 9, "values": 13, "reencrypted": 12}`
	cases := map[string]struct {
		job     *batchv1.Job
		pods    []corev1.Pod
		want    *v1alpha1.StoredSecretsStatus
		pending bool
	}{
		"counted":                   {taskJob(rotate), []corev1.Pod{taskPod("job", terminated(0, text))}, &v1alpha1.StoredSecretsStatus{Columns: 9, Values: 13, Reencrypted: 12}, false},
		"a command of the user":     {taskJob(rotate), []corev1.Pod{taskPod("job", terminated(0, "done"))}, nil, false},
		"more than expected":        {taskJob(rotate), []corev1.Pod{taskPod("job", terminated(0, `{"columns": 9, "password": "x"}`))}, nil, false},
		"a pod observed as running": {taskJob(rotate), []corev1.Pod{taskPod("job")}, nil, true},
		"no pod is left":            {taskJob(rotate), nil, nil, false},
		"another task":              {taskJob(done), []corev1.Pod{taskPod("job", terminated(0, text))}, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := readJob(tc.job, tc.pods...)
			if diff := cmp.Diff(tc.want, got.StoredSecrets); diff != "" || got.ResultPending != tc.pending {
				t.Errorf("result pending %v, counts differ (-want +got):\n%s", got.ResultPending, diff)
			}
		})
	}
}
