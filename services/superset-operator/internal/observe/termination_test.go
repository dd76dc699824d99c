package observe_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// alembic is the output of a failed migration on PostgreSQL.
const alembic = `Traceback (most recent call last):
  File "/usr/bin/superset", line 8, in <module>
sqlalchemy.exc.ProgrammingError: (psycopg2.errors.UndefinedTable) relation "slices" does not exist
LINE 1: UPDATE slices SET params = 'x'
               ^

[SQL: UPDATE slices SET params = %(params)s, owner = %(owner)s]
[parameters: {'params': 'hunter2', 'owner': 1}]
(Background on this error at: https://sqlalche.me/e/14/f405)
`

func terminatedBy(reason string, code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "superset", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}},
		}}
	}
}

func evicted(p *corev1.Pod) {
	p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
}

func deadlineExceeded(j *batchv1.Job) {
	j.Status.Conditions = []batchv1.JobCondition{{
		Type: batchv1.JobFailed, Status: "True", Reason: "DeadlineExceeded", Message: "Job was active longer than specified deadline",
	}}
}

func TestMessageNamesCause(t *testing.T) {
	const prefix = `container "superset" ended with exit code `
	cases := map[string]struct {
		job  func(*batchv1.Job)
		pod  corev1.Pod
		want string
	}{
		"the line of the error": {
			failed, taskPod("job", terminated(1, alembic)),
			prefix + `1: sqlalchemy.exc.ProgrammingError: (psycopg2.errors.UndefinedTable) relation "slices" does not exist`,
		},
		"only continuations": {failed, taskPod("job", terminated(1, "  first\n  last\n")), prefix + "1: last"},
		"nothing printed":    {failed, taskPod("job", terminated(2, "")), prefix + "2"},
		"no shell in the image": {
			failed, taskPod("job", terminatedBy("StartError", 128), func(p *corev1.Pod) {
				p.Status.ContainerStatuses[0].State.Terminated.Message = "failed to create containerd task: failed to create shim task: " +
					"OCI runtime create failed: runc create failed: unable to start container process: exec: \"/bin/sh\": stat /bin/sh: no such file or directory: unknown"
			}),
			prefix + `128 (StartError): exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown`,
		},
		"out of memory":     {failed, taskPod("job", terminatedBy("OOMKilled", 137)), prefix + "137 (OOMKilled)"},
		"no special reason": {failed, taskPod("job", terminatedBy("Error", 1)), prefix + "1"},
		"evicted":           {failed, taskPod("job", evicted), "the pod failed: Evicted: The node was low on resource: memory."},
		"the deadline":      {deadlineExceeded, taskPod("job", terminatedBy("Error", 143)), "DeadlineExceeded: Job was active longer than specified deadline"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := readJob(taskJob(tc.job), tc.pod).Message; got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestMessageKeepsStartWithinLimit(t *testing.T) {
	got := readJob(taskJob(failed), taskPod("job", terminated(1, "CommandError: "+strings.Repeat("ä", 500)))).Message
	if len(got) > 256 || !strings.Contains(got, "exit code 1: CommandError: ä") || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestMessageOmitsParameters(t *testing.T) {
	got := readJob(taskJob(failed), taskPod("job", terminated(1, alembic)))
	if text := got.Message + got.LogTail; strings.Contains(text, "hunter2") || !strings.Contains(got.LogTail, "[parameters: ***") {
		t.Errorf("got %+v", got)
	}
}

// TestLogTailOmitsTruncatedLine checks that the first line of a truncated log is omitted: the kubelet keeps the last
// 2048 bytes, so the key of a secret may be missing in it.
func TestLogTailOmitsTruncatedLine(t *testing.T) {
	truncated := "er2, and more of the line" + strings.Repeat("\nline", 405)
	if got := readJob(taskJob(failed), taskPod("job", terminated(1, truncated))); strings.Contains(got.LogTail, "er2") || !strings.HasSuffix(got.LogTail, "\nline") {
		t.Errorf("log tail %q", got.LogTail)
	}
	singleLine := readJob(taskJob(failed), taskPod("job", terminated(1, strings.Repeat("er2 ", 512))))
	if strings.Contains(singleLine.Message+singleLine.LogTail, "er2") || singleLine.Message != `container "superset" ended with exit code 1` {
		t.Errorf("got %+v", singleLine)
	}
}
